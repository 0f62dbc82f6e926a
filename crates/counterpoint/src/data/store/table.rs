//! A store as a table: contexts, actions, outcomes and weights as they stood in the user's file.

use super::super::input::MISSING;
use super::super::log::{Block, Outcome};
use super::super::read::{Batch, ReadOptions};
use super::open::Store;
use crate::error::{Error, Result};
use arrow_array::{ArrayRef, Float64Array, StringArray};
use std::sync::Arc;

/// The columns of a store, not yet chosen.
pub(in super::super) struct Cells(Store);

/// Where a column stands in a block.
#[derive(Clone)]
enum Place {
    Number(usize),
    Word(usize, Vec<String>),
    Action(usize),
    Outcome(Outcome),
    Weight,
}

impl Cells {
    pub(in super::super) fn new(store: Store) -> Self {
        Cells(store)
    }

    /// All columns that have a role.
    pub(in super::super) fn header(&self) -> Vec<String> {
        self.0.state.layout().map(|l| l.columns()).unwrap_or_default()
    }

    /// Block by block, these columns.
    pub(in super::super) fn choose(self, names: &[&str]) -> Result<impl Iterator<Item = Result<Batch>> + Send + use<>> {
        let places = names.iter().map(|n| self.place(n)).collect::<Result<Vec<_>>>()?;
        let (blocks, _) = self.0.blocks(&ReadOptions::default())?;
        Ok(blocks.into_iter().map(move |b| {
            let columns = places.iter().map(|p| cells(&b, p)).collect();
            Ok(Batch { rows: b.rows(), columns })
        }))
    }

    fn place(&self, name: &str) -> Result<Place> {
        let (state, layout) = (&self.0.state, self.0.state.layout()?);
        if let Some(i) = state.contexts.iter().position(|f| f.name == name) {
            return Ok(state.contexts[i].levels.clone().map_or(Place::Number(i), |words| Place::Word(i, words)));
        }
        if let Some(i) = layout.actions.iter().position(|a| a == name) {
            return Ok(Place::Action(i));
        }
        match () {
            () if layout.outcome == name => Ok(Place::Outcome(layout.direction)),
            () if layout.weight.as_deref() == Some(name) => Ok(Place::Weight),
            () if self.header().iter().any(|n| n == name) => {
                Err(Error::data(format!("the store does not give column {name:?} back"))
                    .hint("it is kept in another form; name the file that the store was packed from"))
            }
            () => Err(Error::data(format!("there is no column {name:?}"))
                .hint(super::super::read::columns_hint(&self.header(), &[name]))),
        }
    }
}

fn cells(block: &Block, place: &Place) -> ArrayRef {
    let numbers = |v: &[f64]| Arc::new(v.iter().map(|v| Some(*v).filter(|v| !v.is_nan())).collect::<Float64Array>());
    match place {
        Place::Number(i) => numbers(&block.x[*i]),
        Place::Action(i) => numbers(&block.a[*i]),
        Place::Outcome(direction) => numbers(&block.y.iter().map(|y| direction.to_user(*y)).collect::<Vec<_>>()),
        Place::Weight => numbers(&block.omega),
        Place::Word(i, words) => {
            let word = |code: &f64| words.get(*code as usize).map(String::as_str).filter(|w| *w != MISSING);
            Arc::new(block.x[*i].iter().map(word).collect::<StringArray>())
        }
    }
}
