//! Contexts of few values, which may be codes of categories: their levels.

use super::Rows;

/// Values of a context at most, and rows per value at least, for it to be a code.
const MOST_LEVELS: usize = 32;
const ROWS_PER_LEVEL: usize = 25;

/// The different values of context j, ascending, if they are few but more than two: it may be a code.
pub(super) fn levels(rows: &Rows, j: usize) -> Vec<f64> {
    let mut found: Vec<f64> = Vec::new();
    for i in 0..rows.len() {
        let v = rows.x[i * rows.d + j];
        if v.is_nan() {
            continue; // what is missing is no level
        }
        let at = found.partition_point(|f| *f < v);
        if found.get(at) != Some(&v) {
            found.insert(at, v);
        }
        if found.len() > MOST_LEVELS || found.len() * ROWS_PER_LEVEL > rows.len() {
            return Vec::new();
        }
    }
    if found.len() > 2 { found } else { Vec::new() }
}

/// The place of the level nearest to a value.
pub(super) fn nearest(levels: &[f64], v: f64) -> usize {
    let right = levels.partition_point(|l| *l < v).min(levels.len() - 1);
    if right > 0 && v - levels[right - 1] < levels[right] - v { right - 1 } else { right }
}
