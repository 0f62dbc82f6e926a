//! Shorthand for what pictures are made of.

use super::{Axis, Mark, Picture, Series};

pub(super) fn series(name: &str, mark: Mark, points: Vec<[f64; 2]>) -> Series {
    Series { name: name.to_string(), mark, points, ..Series::default() }
}

/// A function on evenly spaced points.
pub(super) fn curve(name: &str, [from, to]: [f64; 2], f: impl Fn(f64) -> f64) -> Series {
    let at = |k: usize| from + (to - from) * k as f64 / 200.0;
    series(name, Mark::Line, (0..=200).map(|k| [at(k), f(at(k))]).collect())
}

/// y = x over the points of the other series.
pub(super) fn diagonal(others: &[Series]) -> Series {
    let ends = others.iter().flat_map(|s| &s.points).flatten();
    let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    series("y = x", Mark::Guide, vec![[low, low], [high, high]])
}

/// Dots against dots with the diagonal.
pub(super) fn scatter(name: &str, title: &str, [x, y]: [&str; 2], mut dots: Vec<Series>) -> Picture {
    dots.insert(0, diagonal(&dots));
    picture(name, title, Axis::linear(x), Axis::linear(y), dots)
}

pub(super) fn picture(name: &str, title: &str, x: Axis, y: Axis, series: Vec<Series>) -> Picture {
    Picture { name: name.to_string(), title: title.to_string(), x, y, series, ..Picture::default() }
}

/// A histogram of `bins` equal bins over the given range; values outside fall into the end bins. Heights are shares.
pub(super) fn histogram(name: &str, values: &[f64], [low, high]: [f64; 2], bins: usize) -> Series {
    let width = (high - low) / bins as f64;
    let mut counts = vec![0usize; bins];
    for v in values {
        counts[(((v - low) / width).max(0.0) as usize).min(bins - 1)] += 1;
    }
    let points = counts.iter().enumerate();
    let points = points.map(|(k, c)| [low + (k as f64 + 0.5) * width, *c as f64 / values.len() as f64]).collect();
    Series { spread: vec![width; bins], ..series(name, Mark::Bars, points) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_keep_every_value() {
        let h = histogram("h", &[-9.0, 0.1, 0.6, 0.7, 5.0], [0.0, 1.0], 2);
        assert_eq!(h.points, [[0.25, 0.4], [0.75, 0.6]]);
        assert_eq!(h.spread, [0.5, 0.5]);
    }
}
