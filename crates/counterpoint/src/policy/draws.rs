//! Which random stream a row of a batch draws its action from.

use crate::rng::hash;
use std::collections::HashMap;

/// Names the random stream of each row by what the row is: its id, if it has one, and its contexts.
///
/// A stream that is named by the place of a row in its file gives the first row of every file the same noise, and the next log is
/// then not what its densities say. Rows of one batch that are alike in everything are told apart by their order among
/// themselves, so they too draw independently. The same seed, ids and contexts give the same actions, in whatever order
/// the rows come as long as they differ.
///
/// ```
/// use counterpoint::policy::DrawKeys;
/// let mut keys = DrawKeys::default();
/// let first = keys.key(Some("anna"), &[1.0, 2.0]);
/// assert_ne!(keys.key(Some("anna"), &[1.0, 2.0]), first); // the same again: another draw
/// assert_ne!(keys.key(Some("ben"), &[1.0, 2.0]), first);
/// assert_eq!(DrawKeys::default().key(Some("anna"), &[1.0, 2.0]), first);
/// ```
#[derive(Clone, Debug, Default)]
pub struct DrawKeys {
    seen: HashMap<u64, u64>,
}

impl DrawKeys {
    /// The stream of the next row.
    pub fn key(&mut self, id: Option<&str>, x: &[f64]) -> u64 {
        let named = id.map_or(0, |id| id.bytes().fold(1, |h, b| hash(h, u64::from(b))));
        // 0 and -0 are the same context
        let content = x.iter().fold(hash(2, named), |h, v| hash(h, (v + 0.0).to_bits()));
        let times = self.seen.entry(content).or_insert(0);
        *times += 1;
        hash(content, *times)
    }
}
