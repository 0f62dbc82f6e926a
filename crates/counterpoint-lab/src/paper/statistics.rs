//! The few statistics that claims are tried with.
//!
//! Differences of pairs are tried by Wilcoxon's signed ranks (is the typical pair better?), by their signs (are most pairs
//! better?) and by their mean with a bootstrap interval (is it better on average?). Pairs that are equal are left out of the
//! first two, as usual.

use counterpoint::policy::Family;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Up to this many untied differences the distribution of the rank sum is enumerated, beyond it is normal.
const EXACT: usize = 50;
/// Resamples of a bootstrap.
const RESAMPLES: usize = 2000;

/// The mean.
pub fn mean(v: &[f64]) -> f64 {
    v.iter().sum::<f64>() / v.len() as f64
}

/// Standard error of the mean.
pub fn std_error(v: &[f64]) -> f64 {
    let m = mean(v);
    let n = v.len() as f64;
    (v.iter().map(|x| (x - m).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt()
}

/// Wilcoxon's signed-rank test: the sum of ranks of positive differences, and the two-sided p-value.
///
/// Exact for up to 50 differences without ties, else by the normal approximation with corrections for ties and continuity.
/// With nothing but zeros p is 1.
///
/// ```
/// use counterpoint_lab::paper::wilcoxon;
/// let (sum, p) = wilcoxon(&[1.0, 2.0, 3.0, 4.0, 5.0]);
/// assert_eq!((sum, p), (15.0, 2.0 / 32.0));
/// ```
pub fn wilcoxon(differences: &[f64]) -> (f64, f64) {
    let mut d: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    d.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let n = d.len();
    let (mut sum, mut ties, mut i) = (0.0, 0.0, 0);
    while i < n {
        let j = (i..n).take_while(|&j| d[j].abs() == d[i].abs()).count() + i;
        let rank = (i + 1 + j) as f64 / 2.0;
        sum += rank * d[i..j].iter().filter(|d| **d > 0.0).count() as f64;
        let t = (j - i) as f64;
        ties += t * (t * t - 1.0);
        i = j;
    }
    if n == 0 {
        return (0.0, 1.0);
    }
    let m = n as f64;
    let middle = m * (m + 1.0) / 4.0;
    if n <= EXACT && ties == 0.0 {
        let far = (sum - middle).abs();
        return (
            sum,
            rank_sums(n).iter().enumerate().filter(|(w, _)| (*w as f64 - middle).abs() >= far).map(|x| x.1).sum(),
        );
    }
    let variance = m * (m + 1.0) * (2.0 * m + 1.0) / 24.0 - ties / 48.0;
    let z = ((sum - middle).abs() - 0.5).max(0.0) / variance.sqrt();
    (sum, 2.0 * Family::Normal.cdf(-z, 0.0, 1.0).value)
}

/// Probabilities of the sum of those ranks 1..n that fair coins pick.
fn rank_sums(n: usize) -> Vec<f64> {
    let mut p = vec![0.0; n * (n + 1) / 2 + 1];
    p[0] = 1.0;
    for rank in 1..=n {
        for w in (0..p.len()).rev() {
            p[w] = 0.5 * (p[w] + if w >= rank { p[w - rank] } else { 0.0 });
        }
    }
    p
}

/// The sign test: how many differences are positive, how many negative, and the exact two-sided p-value.
///
/// ```
/// use counterpoint_lab::paper::sign_test;
/// assert_eq!(sign_test(&[1.0, 2.0, 0.5, 3.0, -1.0, 0.0]), (4, 1, 0.375));
/// ```
pub fn sign_test(differences: &[f64]) -> (usize, usize, f64) {
    let up = differences.iter().filter(|d| **d > 0.0).count();
    let down = differences.iter().filter(|d| **d < 0.0).count();
    let n = up + down;
    // log binomials, so that thousands of pairs do not overflow
    let (mut log_p, mut tail) = (-(n as f64) * 2f64.ln(), 0.0);
    for k in 0..=up.min(down) {
        tail += log_p.exp();
        log_p += ((n - k) as f64 / (k + 1) as f64).ln();
    }
    (up, down, (2.0 * tail).min(1.0))
}

/// A 95% interval of the mean by the percentile bootstrap.
pub fn bootstrap_mean(v: &[f64], seed: u64) -> (f64, f64) {
    bootstrap(v, seed, |drawn| drawn.sum::<f64>() / v.len() as f64)
}

/// A 95% interval of the ratio of two sums, sum of firsts over sum of seconds, by the percentile bootstrap over pairs.
pub fn bootstrap_ratio(v: &[(f64, f64)], seed: u64) -> (f64, f64) {
    bootstrap(v, seed, |drawn| {
        let (above, below) = drawn.fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
        above / below
    })
}

/// The 2.5th and 97.5th percentile of a figure over resamples.
fn bootstrap<T: Copy>(v: &[T], seed: u64, figure: impl Fn(&mut dyn Iterator<Item = T>) -> f64) -> (f64, f64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut figures: Vec<f64> =
        (0..RESAMPLES).map(|_| figure(&mut (0..v.len()).map(|_| v[rng.random_range(0..v.len())]))).collect();
    figures.sort_by(f64::total_cmp);
    let cut = RESAMPLES / 40;
    (figures[cut], figures[RESAMPLES - 1 - cut])
}

/// Whether a figure lies in a range, by its interval: yes if all of it does, no if none of it does, else nothing.
///
/// ```
/// use counterpoint_lab::paper::lies_within;
/// assert_eq!(lies_within((2.5, 3.0), 2.0..=4.0), Some(true));
/// assert_eq!(lies_within((3.9, 4.1), 2.0..=4.0), None);
/// assert_eq!(lies_within((4.1, 4.5), 2.0..=4.0), Some(false));
/// ```
pub fn lies_within((low, high): (f64, f64), range: std::ops::RangeInclusive<f64>) -> Option<bool> {
    match (range.contains(&low), range.contains(&high)) {
        (true, true) => Some(true),
        (false, false) if high < *range.start() || low > *range.end() => Some(false),
        _ => None,
    }
}

/// How well estimates agree with the truth: 1 - sum (truth - estimate)^2 / sum (truth - mean truth)^2.
///
/// 1 is perfect, 0 no better than the mean of the truths, and below 0 worse. The ideal line is y = x, not any line.
pub fn r_squared(truth: &[f64], estimate: &[f64]) -> f64 {
    let m = mean(truth);
    let missed: f64 = truth.iter().zip(estimate).map(|(t, e)| (t - e).powi(2)).sum();
    1.0 - missed / truth.iter().map(|t| (t - m).powi(2)).sum::<f64>()
}

/// Pearson's correlation.
pub fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let (a, b) = (mean(x), mean(y));
    let product = |u: &[f64], s: f64, v: &[f64], t: f64| u.iter().zip(v).map(|(x, y)| (x - s) * (y - t)).sum::<f64>();
    product(x, a, y, b) / (product(x, a, x, a) * product(y, b, y, b)).sqrt()
}

/// Least squares y = intercept + slope x: (intercept, slope, standard error of the slope).
pub fn line(x: &[f64], y: &[f64]) -> (f64, f64, f64) {
    let (a, b) = (mean(x), mean(y));
    let xx: f64 = x.iter().map(|x| (x - a).powi(2)).sum();
    let slope = x.iter().zip(y).map(|(x, y)| (x - a) * (y - b)).sum::<f64>() / xx;
    let intercept = b - slope * a;
    let left: f64 = x.iter().zip(y).map(|(x, y)| (y - intercept - slope * x).powi(2)).sum();
    (intercept, slope, (left / (x.len() as f64 - 2.0) / xx).sqrt())
}

/// Pairs compared: the second minus the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Number of pairs.
    pub pairs: usize,
    /// Mean difference.
    pub mean: f64,
    /// Its 95% bootstrap interval.
    pub interval: (f64, f64),
    /// Median difference.
    pub median: f64,
    /// Share of the rank sum that is positive minus the share that is negative, -1 to 1.
    pub ranks: f64,
    /// p-value of Wilcoxon's test.
    pub wilcoxon: f64,
    /// Pairs whose difference is positive, and negative.
    pub signs: (usize, usize),
    /// p-value of the sign test.
    pub sign: f64,
}

impl Paired {
    /// Compares by differences; there must be some.
    pub fn new(differences: &[f64]) -> Paired {
        let (up, down, sign) = sign_test(differences);
        let mut sorted = differences.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let (sum, wilcoxon) = wilcoxon(differences);
        let all = (up + down) as f64 * (up + down + 1) as f64 / 2.0;
        Paired {
            pairs: differences.len(),
            mean: mean(differences),
            interval: bootstrap_mean(differences, 1),
            median: 0.5 * (sorted[middle] + sorted[(sorted.len() - 1) / 2]),
            ranks: if all > 0.0 { 2.0 * sum / all - 1.0 } else { 0.0 },
            wilcoxon,
            signs: (up, down),
            sign,
        }
    }

    /// Whether the second is larger: yes or no where Wilcoxon's test speaks at 5%, else nothing.
    pub fn larger(&self) -> Option<bool> {
        (self.wilcoxon < 0.05).then_some(self.ranks > 0.0)
    }
}

impl std::fmt::Display for Paired {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (low, high) = self.interval;
        let (up, down) = self.signs;
        write!(
            f,
            "mean difference {:+.4} (95% {low:+.4} to {high:+.4}), median {:+.4}; larger in {up} of {} pairs, smaller in {down}; Wilcoxon p = {:.2e}, sign test p = {:.2e}",
            self.mean, self.median, self.pairs, self.wilcoxon, self.sign
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// n = 3, ranks 1, 2, 3 with signs +, -, +: the sum is 4 of 6; at least as far from 3 as that are all sums but 3 (twice of 8).
    #[test]
    fn wilcoxon_by_hand() {
        assert_eq!(wilcoxon(&[0.1, -0.2, 0.3]), (4.0, 0.75));
        assert_eq!(wilcoxon(&[0.0, 0.0]), (0.0, 1.0));
        assert_eq!(wilcoxon(&[-1.0, -2.0, -3.0, -4.0, -5.0]), (0.0, 0.0625));
    }

    /// Ties share their ranks: |d| = 1, 1, 2, 2, 3 have 1.5, 1.5, 3.5, 3.5, 5; variance 5 6 11 / 24 - 2 (2^3 - 2) / 48 = 13.5.
    #[test]
    fn ties_share_ranks() {
        let (sum, p) = wilcoxon(&[1.0, -1.0, 2.0, 2.0, 3.0]);
        assert_eq!(sum, 13.5);
        let z = (13.5 - 7.5 - 0.5) / 13.5f64.sqrt();
        assert!((p - 2.0 * Family::Normal.cdf(-z, 0.0, 1.0).value).abs() < 1e-12);
    }

    /// At the border the exact and the approximate p-value agree to a few per cent.
    #[test]
    fn approximation_continues_the_exact_test() {
        let d: Vec<f64> = (1..=50).map(|k| if k % 3 == 0 { -f64::from(k) } else { f64::from(k) }).collect();
        let exact = wilcoxon(&d).1;
        let mut tied = d.clone();
        tied[0] = 2.0; // one tie changes next to nothing but the method
        assert!((wilcoxon(&tied).1 / exact - 1.0).abs() < 0.1, "{exact} {}", wilcoxon(&tied).1);
    }

    /// 1,500 of 2,000: p is astronomically small and finite; 10 of 10 is 2 / 1024.
    #[test]
    fn sign_test_by_hand() {
        assert_eq!(sign_test(&[1.0; 10]).2, 2.0 / 1024.0);
        assert_eq!(sign_test(&[]).2, 1.0);
        let d: Vec<f64> = (0..2000).map(|k| if k < 1500 { 1.0 } else { -1.0 }).collect();
        let p = sign_test(&d).2;
        assert!(p > 0.0 && p < 1e-100);
    }

    /// y = 1, 3, 2 at x = 0, 1, 2: slope 1/2, residuals -1/2, 1, -1/2, so s^2 = 3/2 and the slope's variance 3/4.
    #[test]
    fn line_by_hand() {
        let (intercept, slope, error) = line(&[0.0, 1.0, 2.0], &[1.0, 3.0, 2.0]);
        assert!((intercept - 1.5).abs() < 1e-12 && (slope - 0.5).abs() < 1e-12);
        assert!((error - 0.75f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn agreement_by_hand() {
        let truth = [0.0, 1.0, 2.0];
        assert_eq!(r_squared(&truth, &truth), 1.0);
        assert_eq!(r_squared(&truth, &[1.0; 3]), 0.0);
        assert_eq!(r_squared(&truth, &[1.0, 2.0, 3.0]), -0.5);
        assert!((correlation(&truth, &[5.0, 7.0, 9.0]) - 1.0).abs() < 1e-12);
    }

    /// The mean of 0..99 is 49.5 with standard error 2.9: the interval is about 49.5 +- 5.7.
    #[test]
    fn bootstrap_interval_is_two_standard_errors_wide() {
        let v: Vec<f64> = (0..100).map(f64::from).collect();
        assert!((std_error(&v) - 2.901_149).abs() < 1e-5);
        let (low, high) = bootstrap_mean(&v, 3);
        assert!((low - 43.8).abs() < 0.8 && (high - 55.2).abs() < 0.8, "{low} {high}");
        assert_eq!(bootstrap_mean(&v, 3), (low, high));
    }

    /// A ratio that is the same in every pair has no spread; the ratio of sums is not the mean of ratios.
    #[test]
    fn ratios_of_sums() {
        assert_eq!(bootstrap_ratio(&[(2.0, 1.0), (6.0, 3.0), (20.0, 10.0)], 1), (2.0, 2.0));
        let v: Vec<(f64, f64)> = (0..200).map(|i| if i % 2 == 0 { (10.0, 1.0) } else { (9.0, 9.0) }).collect();
        // 19 / 10, not 5.5; residuals x - 1.9 y are 8.1 in size, so its standard error is 8.1 / 5 / sqrt(200) = 0.115
        let (low, high) = bootstrap_ratio(&v, 1);
        assert!((low - 1.675).abs() < 0.06 && (high - 2.125).abs() < 0.06, "{low} {high}");
        assert_eq!(lies_within((1.0, 5.0), 2.0..=4.0), None);
    }

    #[test]
    fn pairs_are_larger_only_where_the_ranks_say_so() {
        let up: Vec<f64> = (1..=12).map(f64::from).collect();
        assert_eq!(Paired::new(&up).larger(), Some(true));
        let down: Vec<f64> = up.iter().map(|d| -d).collect();
        assert_eq!(Paired::new(&down).larger(), Some(false));
        let mixed: Vec<f64> = (1..=12).map(|k| if k % 2 == 0 { f64::from(k) } else { -f64::from(k) }).collect();
        assert_eq!(Paired::new(&mixed).larger(), None);
    }
}
