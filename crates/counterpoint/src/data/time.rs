//! Parts by time: what was learned early is tested on what came later, as it will be used.

mod order;

use super::log::Log;
use super::split::Part;
use crate::error::{Error, Result};

/// Shares of train, valid and test, from the earliest rows to the latest.
const SHARES: [f64; 2] = [0.5, 0.75];

/// The part of every row by its time: the earlier half is train, the next quarter valid, the last quarter test. Rows of one time are never
/// divided.
///
/// ```
/// use counterpoint::data::{Part, parts_by_time};
/// let parts = parts_by_time(&["2024-03", "2024-01", "2024-01", "2024-02", "2024-04"]);
/// assert_eq!(parts, [Part::Valid, Part::Train, Part::Train, Part::Train, Part::Test]);
/// ```
pub fn parts_by_time<T: Ord>(times: &[T]) -> Vec<Part> {
    let mut sorted: Vec<&T> = times.iter().collect();
    sorted.sort();
    // the last time of a part: a cut never falls between equal times
    let last = |share: f64| sorted.get((share * sorted.len() as f64).ceil().max(1.0) as usize - 1).copied();
    let [train, valid] = SHARES.map(last);
    let part = |t: &T| match () {
        () if Some(t) <= train => Part::Train,
        () if Some(t) <= valid => Part::Valid,
        () => Part::Test,
    };
    times.iter().map(part).collect()
}

/// The same for times that are numbers. What is not finite is no time, and seconds among milliseconds have no order.
pub fn parts_by_number(times: &[f64]) -> Result<Vec<Part>> {
    let keys = ordered(times)?;
    order::of_numbers(times)?;
    Ok(parts_by_time(&keys))
}

/// The same for times that are words. Words that would not sort by time are refused: `9:00` among `10:00`, days or months in front of their
/// year, names of months, times of several zones.
///
/// ```
/// use counterpoint::data::parts_by_word;
/// assert!(parts_by_word(&["2024-03-09", "2024-03-10"]).is_ok());
/// assert!(parts_by_word(&["2024-3-9", "2024-3-10"]).is_err());
/// ```
pub fn parts_by_word<S: AsRef<str>>(times: &[S]) -> Result<Vec<Part>> {
    let times: Vec<&str> = times.iter().map(AsRef::as_ref).collect();
    if let Some(i) = times.iter().position(|t| t.trim().is_empty()) {
        return Err(missing(i));
    }
    order::of_words(&times)?;
    Ok(parts_by_time(&times))
}

fn missing(row: usize) -> Error {
    Error::data("the time is missing")
        .at(format!("row {}", row + 1))
        .hint("a row without a time belongs to no part: write its time, or take the row out")
}

/// Numbers in the order of their values.
fn ordered(times: &[f64]) -> Result<Vec<i64>> {
    let key = |(i, t): (usize, &f64)| match t.is_nan() {
        true => Err(missing(i)),
        false if t.is_infinite() => Err(Error::data(format!("{t} is no time"))
            .at(format!("row {}", i + 1))
            .hint("write when the row happened, or take the row out")),
        // as f64::total_cmp has it, and -0 is 0
        false => {
            let bits = (t + 0.0).to_bits() as i64;
            Ok(bits ^ (((bits >> 63) as u64) >> 1) as i64)
        }
    };
    times.iter().enumerate().map(key).collect()
}

impl Log {
    /// The same rows with the part of each, by its number in the log as it was given; see [`SplitRule::Column`](super::SplitRule::Column).
    ///
    /// Rows that belong together and stand in several parts are refused: they would not be independent of each other.
    pub fn with_parts(mut self, parts: &[Part]) -> Result<Log> {
        let mut own = Vec::with_capacity(self.rows());
        let mut clusters = std::collections::HashMap::new();
        for b in &self.blocks {
            for i in 0..b.rows() {
                let Some(part) = parts.get(b.ids[i] as usize) else {
                    return Err(Error::data(format!("row {} has no part: there are {}", b.ids[i] + 1, parts.len())));
                };
                if !b.cluster.is_empty() && *clusters.entry(b.key(i)).or_insert(*part) != *part {
                    return Err(Error::data("a cluster has rows in several parts")
                        .at(format!("row {}", b.ids[i] + 1))
                        .hint("divide by clusters or by time; rows that belong together must not be divided"));
                }
                own.push(*part);
            }
        }
        self.parts = Some(own);
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_ordered_by_value() {
        let times = [3.5, -1.0, 0.0, -0.0, -7.25, f64::MAX, 1e300];
        let keys = ordered(&times).unwrap();
        for (i, a) in times.iter().enumerate() {
            for (j, b) in times.iter().enumerate() {
                assert_eq!(a.partial_cmp(b).unwrap(), keys[i].cmp(&keys[j]), "{a} {b}");
            }
        }
        assert!(ordered(&[1.0, f64::NAN]).is_err());
        assert!(ordered(&[1.0, f64::INFINITY]).is_err());
    }

    #[test]
    fn a_cut_never_falls_between_equal_times() {
        let times = [1, 1, 1, 1, 1, 1, 2, 3, 3, 3];
        let parts = parts_by_time(&times);
        // half of ten is five, but six rows are of time 1; three quarters end within time 3, which then is all of valid
        assert_eq!(parts[..6], [Part::Train; 6]);
        assert_eq!(parts[6..], [Part::Valid; 4]);
    }
}
