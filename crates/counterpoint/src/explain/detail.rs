//! How much of the log a report may show: by default no row of it, and nothing that fewer than ten rows stand behind.

use super::dependence::Level;
use super::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// Rows that must stand behind anything that is shown.
pub const FEWEST: usize = 10;

/// Points that stand for all rows of a picture, at most.
const POINTS: usize = 20;

/// What a report shows of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Detail {
    /// Means and counts of at least [`FEWEST`] rows.
    #[default]
    Aggregates,
    /// Some of its rows as they are: whoever has the page has them.
    Rows,
}

/// Means of neighbours: points sorted by their first number, in groups of at least [`FEWEST`].
///
/// Groups are of equal size but for the last, which takes what is left over.
pub(super) fn grouped(mut points: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    points.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let size = points.len().div_ceil(POINTS).max(FEWEST);
    let groups = points.len() / size;
    let group = |g: usize| if g + 1 == groups { &points[g * size..] } else { &points[g * size..(g + 1) * size] };
    let mean = |rows: &[[f64; 2]], c: usize| rows.iter().map(|r| r[c]).sum::<f64>() / rows.len() as f64;
    (0..groups).map(|g| [mean(group(g), 0), mean(group(g), 1)]).collect()
}

/// Levels that fewer than [`FEWEST`] sampled rows have become one, if together they are enough; else they are left out.
pub(super) fn without_rare_levels(levels: Vec<Level>) -> Vec<Level> {
    let (mut kept, rare): (Vec<Level>, Vec<Level>) = levels.into_iter().partition(|l| l.rows >= FEWEST as f64);
    let rows: f64 = rare.iter().map(|l| l.rows).sum();
    if rows >= FEWEST as f64 {
        let mean = |f: fn(&Level) -> f64| rare.iter().map(|l| l.rows * f(l)).sum::<f64>() / rows;
        let name = format!("({} rare ones)", rare.len());
        kept.push(Level { name, rows, mean: mean(|l| l.mean), lower: mean(|l| l.lower), upper: mean(|l| l.upper) });
    }
    kept
}

/// Neighbouring bins are put together until at least [`FEWEST`] rows are in each, and share them evenly; what lies beyond the ends goes
/// into the nearest. A histogram of fewer rows is empty.
pub(super) fn without_small_cells(h: &Histogram) -> Histogram {
    let few = FEWEST as f64;
    let mut out = Histogram { counts: vec![0.0; h.counts.len()], below: 0.0, above: 0.0, edges: h.edges.clone() };
    let bins = h.counts.len();
    if bins == 0 || h.total() < few {
        return out;
    }
    let mut counts = h.counts.clone();
    // tails of a few rows are not told apart from the first and the last bin
    for (tail, to, end) in [(h.below, &mut out.below, 0), (h.above, &mut out.above, bins - 1)] {
        if tail >= few { *to = tail } else { counts[end] += tail }
    }
    let (mut from, mut sum, mut groups) = (0, 0.0, Vec::new());
    for (i, count) in counts.iter().enumerate().filter(|(_, c)| **c > 0.0) {
        from = if sum == 0.0 { i } else { from }; // empty bins before a group stay empty
        sum += count;
        if sum >= few {
            groups.push((from, i + 1, sum));
            sum = 0.0;
        }
    }
    let end = counts.iter().rposition(|c| *c > 0.0).map_or(0, |i| i + 1);
    match groups.last_mut() {
        Some(last) if sum > 0.0 => (last.1, last.2) = (end, last.2 + sum),
        None if sum > 0.0 => groups.push((from, end, sum)),
        _ => {}
    }
    for (from, to, sum) in groups {
        out.counts[from..to].fill(sum / (to - from) as f64);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_stands_for_fewer_than_ten_rows() {
        let points = |n: usize| (0..n).map(|i| [i as f64, 2.0 * i as f64]).collect::<Vec<_>>();
        assert!(grouped(points(9)).is_empty());
        assert_eq!(grouped(points(25)), [[4.5, 9.0], [17.0, 34.0]]); // rows 0 to 9, and 10 to 24
        assert_eq!(grouped(points(400)).len(), 20);
        let level = |name: &str, rows: f64| Level { name: name.into(), rows, mean: rows, lower: 0.0, upper: 1.0 };
        let kept = without_rare_levels(vec![level("a", 30.0), level("b", 6.0), level("c", 4.0)]);
        assert_eq!(
            kept.iter().map(|l| (l.name.as_str(), l.rows)).collect::<Vec<_>>(),
            [("a", 30.0), ("(2 rare ones)", 10.0)]
        );
        assert_eq!(kept[1].mean, 5.2);
        assert_eq!(without_rare_levels(vec![level("a", 30.0), level("b", 6.0)]).len(), 1);
    }

    #[test]
    fn small_cells_of_a_histogram_are_shared_out_and_no_row_is_lost() {
        let mut h = Histogram::linear(0.0, 6.0, 6);
        for (value, times) in [(0.5, 4.0), (1.5, 7.0), (2.5, 40.0), (4.5, 3.0), (9.0, 2.0)] {
            h.add(value, times);
        }
        let told = without_small_cells(&h);
        // the first two bins make 11; the third has enough; what comes after it, with the two beyond the end, is too little for a group
        assert_eq!(told.counts, [5.5, 5.5, 11.25, 11.25, 11.25, 11.25]);
        assert_eq!((told.total(), told.above), (h.total(), 0.0));
        let mut few = Histogram::linear(0.0, 1.0, 4);
        few.add(0.2, 9.0);
        assert_eq!(without_small_cells(&few).total(), 0.0);
    }
}
