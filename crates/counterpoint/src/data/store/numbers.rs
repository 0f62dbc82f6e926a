//! In what precision a store holds numbers.

use serde::{Deserialize, Serialize};

/// How the numbers of a store are held.
///
/// Single precision is half the size and keeps seven digits of every context, action, outcome, weight and logarithm of a density. The log of such a store is the log of
/// the rounded numbers, in double precision as every log: they are widened when it is opened, into memory or a scratch file. Row numbers and the
/// keys of clusters are whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Numbers {
    /// As they were read.
    #[default]
    F64,
    /// Rounded to single precision.
    F32,
}

impl Numbers {
    /// Bytes of a number.
    pub(super) fn bytes(self) -> usize {
        match self {
            Numbers::F64 => 8,
            Numbers::F32 => 4,
        }
    }

    /// Whether it is what stores hold that do not say.
    pub(super) fn is_f64(&self) -> bool {
        *self == Numbers::F64
    }
}
