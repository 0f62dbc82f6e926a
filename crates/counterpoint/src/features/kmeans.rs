//! k-means: k-means++ seeding, Lloyd's iterations, seeded.
//!
//! Used for anchors of vector actions and for the centres of a Nystrom context map, on at most a few ten thousand
//! rows, so a plain loop is enough. Ties go to the lower index and empty clusters keep their centre: same rows and
//! seed, same centres.

use crate::rng::{Purpose, stream};
use rand::RngExt;

/// At most `k` centres (fewer if there are fewer distinct points) of row-major `points` with `d` columns,
/// sorted lexicographically.
///
/// ```
/// let points = [0.0, 0.1, 5.0, 5.1];
/// let centres = counterpoint::features::kmeans(&points, 1, 2, 7);
/// assert!((centres[0] - 0.05).abs() < 1e-12 && (centres[1] - 5.05).abs() < 1e-12);
/// ```
pub fn kmeans(points: &[f64], d: usize, k: usize, seed: u64) -> Vec<f64> {
    let mut centres = seeds(points, d, k, seed);
    let k = centres.len() / d;
    let n = points.len() / d;
    let mut owner = vec![usize::MAX; n];
    for _ in 0..100 {
        let mut moved = false;
        let mut sums = vec![0.0; k * d];
        let mut counts = vec![0usize; k];
        for (i, p) in points.chunks_exact(d).enumerate() {
            let c = nearest(p, &centres, d).0;
            moved |= owner[i] != c;
            owner[i] = c;
            counts[c] += 1;
            for j in 0..d {
                sums[c * d + j] += p[j];
            }
        }
        if !moved {
            break;
        }
        for c in (0..k).filter(|&c| counts[c] > 0) {
            for j in 0..d {
                centres[c * d + j] = sums[c * d + j] / counts[c] as f64;
            }
        }
    }
    let mut rows: Vec<&[f64]> = centres.chunks_exact(d).collect();
    rows.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    rows.concat()
}

/// k-means++: each next centre is drawn with probability proportional to its squared distance from those chosen.
fn seeds(points: &[f64], d: usize, k: usize, seed: u64) -> Vec<f64> {
    let mut rng = stream(seed, Purpose::Centres, 0);
    let n = points.len() / d;
    if n == 0 {
        return Vec::new();
    }
    let first = rng.random_range(0..n);
    let mut centres = points[first * d..(first + 1) * d].to_vec();
    let mut gap: Vec<f64> = points.chunks_exact(d).map(|p| squared(p, &centres)).collect();
    while centres.len() < k * d {
        let total: f64 = gap.iter().sum();
        if total <= 0.0 {
            break; // every point is a centre already
        }
        let mut u = rng.random::<f64>() * total;
        let mut pick = n - 1;
        for (i, g) in gap.iter().enumerate() {
            u -= g;
            if u < 0.0 && *g > 0.0 {
                pick = i;
                break;
            }
        }
        let chosen = points[pick * d..(pick + 1) * d].to_vec();
        for (g, p) in gap.iter_mut().zip(points.chunks_exact(d)) {
            *g = g.min(squared(p, &chosen));
        }
        centres.extend(chosen);
    }
    centres
}

fn nearest(p: &[f64], centres: &[f64], d: usize) -> (usize, f64) {
    let mut best = (0, f64::INFINITY);
    for (c, z) in centres.chunks_exact(d).enumerate() {
        let s = squared(p, z);
        if s < best.1 {
            best = (c, s);
        }
    }
    best
}

fn squared(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum()
}
