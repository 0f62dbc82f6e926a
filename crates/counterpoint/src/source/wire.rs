//! What goes over the wire, and how it is written: MessagePack, which keeps every bit of a number.

use super::{Answer, Ask};
use crate::data::{Schema, View};
use crate::engine::Forest;
use crate::error::{Error, Result};
use crate::folds::{Partial, RiskSpec};
use crate::propensity::Fitted;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What a shard is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant)] // one per question
pub(super) enum Request {
    /// Its columns.
    Schema,
    /// A question.
    Ask { view: View, ask: Ask },
    /// To make its rows ready for a risk, and to keep them under a key.
    Prepare { view: View, key: u64, spec: Box<RiskSpec> },
    /// The sums of a prepared risk at a theta.
    Risk { key: u64, theta: Vec<f64>, graded: bool },
    /// To compute the densities of its rows, which have none, and to keep them.
    Densities { fitted: Box<Fitted> },
    /// To forget what was prepared.
    Release { key: u64 },
}

/// What it answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Response {
    /// Its columns.
    Schema(Box<Schema>),
    /// The nodes it can complete.
    Answer(Forest<Answer>),
    /// How many rows it made ready.
    Prepared { rows: u64 },
    /// The nodes it can complete.
    Risk(Forest<Partial>),
    /// It does not know this key: it was started anew since.
    Forgotten,
    /// It did what it was told.
    Done,
}

/// Writes a message.
pub(super) fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>> {
    rmp_serde::to_vec_named(message).map_err(|e| Error::data(format!("a message cannot be written: {e}")))
}

/// Reads a message.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    rmp_serde::from_slice(bytes).map_err(|e| {
        Error::data(format!("a message cannot be read: {e}"))
            .hint("caller and shards must be of the same version of counterpoint")
    })
}
