//! Who adds it up.
//!
//! A [`Fold`] asks one question of every block; partial answers add up. An [`Engine`] runs folds on threads. It knows no
//! statistics: it hands out blocks, and merges the partial answers in the order of the blocks, so that the result does
//! not depend on the number of threads.

use crate::error::{Error, Result};
use rayon::prelude::*;

/// A question asked of every block of rows.
pub trait Fold<B>: Sync {
    /// A partial answer.
    type Partial: Send;
    /// The answer for no rows.
    fn zero(&self) -> Self::Partial;
    /// Makes an old partial the answer for no rows again, keeping its memory.
    fn reset(&self, partial: &mut Self::Partial) {
        *partial = self.zero();
    }
    /// Adds the rows of one block.
    fn add(&self, block: &B, into: &mut Self::Partial);
    /// Adds the answer for other rows.
    fn merge(&self, other: &Self::Partial, into: &mut Self::Partial);
}

/// At most this many partial answers are held at once; beyond, runs of neighbouring blocks share one. Like the block
/// size it is part of the definition of the sums, so it does not depend on the machine.
const MAX_PARTIALS: usize = 1024;

/// Threads of this process.
pub struct Engine {
    pool: Option<rayon::ThreadPool>,
    threads: usize,
}

impl Engine {
    /// An engine with this many threads; 0 means one a core.
    pub fn new(threads: usize) -> Result<Self> {
        let threads = if threads == 0 { std::thread::available_parallelism().map_or(1, |n| n.get()) } else { threads };
        if threads == 1 {
            return Ok(Engine { pool: None, threads });
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|e| Error::recipe("threads", format!("cannot start {threads} threads: {e}")))?;
        Ok(Engine { pool: Some(pool), threads })
    }

    /// An engine that uses only the calling thread.
    pub fn single() -> Self {
        Engine { pool: None, threads: 1 }
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `work` inside the pool, so that the folds it asks for start without waking the pool each time.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// Runs independent pieces of work side by side and returns the results in order.
    pub fn map<A: Sync, T: Send>(&self, items: &[A], work: impl Fn(&A) -> T + Sync + Send) -> Vec<T> {
        match &self.pool {
            Some(pool) => pool.install(|| items.par_iter().map(&work).collect()),
            None => items.iter().map(work).collect(),
        }
    }

    /// Asks `fold` of all `blocks`; the answer is left in `slots[0]`. Slots are reused from call to call.
    pub fn fold<B: Sync, F: Fold<B>>(&self, fold: &F, blocks: &[B], slots: &mut Vec<F::Partial>) {
        let run = blocks.len().div_ceil(MAX_PARTIALS).max(1);
        slots.resize_with(blocks.len().div_ceil(run).max(1), || fold.zero());
        let work = |(slot, run): (&mut F::Partial, &[B])| {
            fold.reset(slot);
            run.iter().for_each(|b| fold.add(b, slot));
        };
        if blocks.is_empty() {
            fold.reset(&mut slots[0]);
        }
        match &self.pool {
            Some(pool) if blocks.len() > 1 => {
                pool.install(|| slots.par_iter_mut().zip(blocks.par_chunks(run)).for_each(work));
            }
            _ => slots.iter_mut().zip(blocks.chunks(run)).for_each(work),
        }
        if let Some((first, rest)) = slots.split_first_mut() {
            rest.iter().for_each(|p| fold.merge(p, first));
        }
    }

    /// Asks once and returns the answer.
    pub fn ask<B: Sync, F: Fold<B>>(&self, fold: &F, blocks: &[B]) -> F::Partial {
        let mut slots = Vec::new();
        self.fold(fold, blocks, &mut slots);
        slots.swap_remove(0)
    }
}
