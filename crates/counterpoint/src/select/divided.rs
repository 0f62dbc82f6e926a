//! The parts of a log that a selection needs, wherever the rows are: in this process, on chosen threads, or in shards.

use crate::data::{Log, Parts, View};
use crate::error::Result;
use crate::source::{DividedShards, Local, Source};

/// The train and the valid part of a log, wherever its rows are.
pub trait Divided: Sync {
    /// Learned on.
    fn train(&self) -> &dyn Source;

    /// Tuned on.
    fn valid(&self) -> &dyn Source;

    /// Train and valid together: what a search learns from, since its gate is measured on held-out folds of both.
    fn both<'a>(&'a self) -> Result<Box<dyn Source + 'a>>;

    /// Train and valid together, in folds: for each fold the other folds, and the fold.
    fn folds<'a>(&'a self, seed: u64, count: usize) -> Result<Vec<Cut<'a>>>;
}

/// Rows to train on, and rows to judge on.
pub type Cut<'a> = (Box<dyn Source + 'a>, Box<dyn Source + 'a>);

impl Divided for (Local<'_>, Local<'_>) {
    fn train(&self) -> &dyn Source {
        &self.0
    }

    fn valid(&self) -> &dyn Source {
        &self.1
    }

    fn both<'a>(&'a self) -> Result<Box<dyn Source + 'a>> {
        Ok(Box::new(Local::owned(Log::join(&[self.0.rows(), self.1.rows()])?, self.0.engine())))
    }

    fn folds<'a>(&'a self, seed: u64, count: usize) -> Result<Vec<Cut<'a>>> {
        let both = Log::join(&[self.0.rows(), self.1.rows()])?;
        let boxed = |log: Log| -> Box<dyn Source + 'a> { Box::new(Local::owned(log, self.0.engine())) };
        (0..count).map(|f| both.fold(seed, f, count).map(|(rest, fold)| (boxed(rest), boxed(fold)))).collect()
    }
}

/// A log divided in this process, asked on all cores.
impl Divided for Parts {
    fn train(&self) -> &dyn Source {
        &self.train
    }

    fn valid(&self) -> &dyn Source {
        &self.valid
    }

    fn both<'a>(&'a self) -> Result<Box<dyn Source + 'a>> {
        Ok(Box::new(Log::join(&[&self.train, &self.valid])?))
    }

    fn folds<'a>(&'a self, seed: u64, count: usize) -> Result<Vec<Cut<'a>>> {
        let both = Log::join(&[&self.train, &self.valid])?;
        let boxed = |log: Log| -> Box<dyn Source + 'a> { Box::new(log) };
        (0..count).map(|f| both.fold(seed, f, count).map(|(rest, fold)| (boxed(rest), boxed(fold)))).collect()
    }
}

/// A log in shards with the rule that divides it.
impl Divided for DividedShards {
    fn train(&self) -> &dyn Source {
        &self.train
    }

    fn valid(&self) -> &dyn Source {
        &self.valid
    }

    fn both<'a>(&'a self) -> Result<Box<dyn Source + 'a>> {
        self.both.view(&View::default())
    }

    fn folds<'a>(&'a self, seed: u64, count: usize) -> Result<Vec<Cut<'a>>> {
        (0..count)
            .map(|f| {
                let [rest, fold] = View::fold(seed, f, count);
                Ok((self.both.view(&rest)?, self.both.view(&fold)?))
            })
            .collect()
    }
}
