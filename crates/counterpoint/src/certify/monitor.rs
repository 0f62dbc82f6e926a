//! A confidence sequence: an interval that may be looked at after every row, and acted on whenever one likes.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Candidate means that are bet against; the interval is rounded outward to them.
const CANDIDATES: usize = 1024;

/// No bet stakes more than this share of the capital on one row.
const MOST: f64 = 0.5;

/// A betting confidence sequence (Waudby-Smith and Ramdas 2024) for the mean of clipped terms.
///
/// ```text
/// u_t = min(w_t, cap) (y_t - hi) + hi,    x_t = u_t mapped to [0, 1]
/// K+_t(m) = prod (1 + l_s (x_s - m)),     K-_t(m) = prod (1 - l_s (x_s - m))
/// ```
///
/// If m is the mean, both are capital processes of a fair game, which reach 2/alpha with probability at most alpha/2,
/// ever. The stakes l_s depend on earlier rows only (predictable plug-in, at most 1/2) and not on m, so K+ falls and K-
/// rises in m and the m that neither has ruled out form an interval exactly. It holds the mean of u at all times
/// together with probability 1 - alpha, however long one looks and for whatever reason one stops.
///
/// It needs a bound: costs in [lo, hi], known beforehand; a cost outside is refused. Clipping moves the mean of u
/// towards the worse: E u >= L(pi), with equality if no weight exceeds the cap. So the upper end is an upper bound of the
/// policy's cost whatever the cap; the lower end bounds the clipped mean only. To follow a policy that is already
/// deployed, every weight is 1 and so is the cap.
///
/// ```
/// use counterpoint::certify::Monitor;
/// let mut monitor = Monitor::new(0.95, 1.0, [0.0, 1.0])?;
/// for t in 0..2000 {
///     monitor.update(1.0, if t % 4 == 0 { 1.0 } else { 0.0 })?;
/// }
/// let (lower, upper) = monitor.interval();
/// assert!(0.18 < lower && lower < 0.25 && 0.25 < upper && upper < 0.32);
/// # Ok::<(), counterpoint::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Monitor {
    alpha: f64,
    cap: f64,
    range: [f64; 2],
    rows: u64,
    sum: f64,
    squares: f64,
    /// Capitals against the candidates k / CANDIDATES, k = 0..=CANDIDATES.
    above: Vec<f64>,
    below: Vec<f64>,
    /// The candidates that still stand.
    low: usize,
    high: usize,
}

impl Monitor {
    /// A monitor at this confidence, for weights clipped at `cap` and costs in `cost_range`.
    pub fn new(confidence: f64, cap: f64, cost_range: [f64; 2]) -> Result<Self> {
        let [lo, hi] = cost_range;
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(Error::recipe("monitor.confidence", format!("{confidence} must lie between 0 and 1")));
        }
        if !(cap.is_finite() && cap > 0.0) {
            return Err(Error::recipe("monitor.cap", format!("{cap} must be > 0")));
        }
        if !(lo.is_finite() && hi.is_finite() && lo < hi) {
            return Err(Error::recipe("monitor.cost_range", format!("[{lo}, {hi}] is not a range")));
        }
        let capital = vec![1.0; CANDIDATES + 1];
        Ok(Monitor {
            alpha: 1.0 - confidence,
            cap,
            range: cost_range,
            rows: 0,
            sum: 0.0,
            squares: 0.0,
            above: capital.clone(),
            below: capital,
            low: 0,
            high: CANDIDATES,
        })
    }

    /// Takes in one row and returns the interval on the scale of costs.
    pub fn update(&mut self, w: f64, y: f64) -> Result<(f64, f64)> {
        let [lo, hi] = self.range;
        if !(lo..=hi).contains(&y) {
            return Err(Error::data(format!("a cost of {y} lies outside the range [{lo}, {hi}] of the monitor"))
                .hint("the range must hold every cost that can happen; start again with a wider one"));
        }
        if w.is_nan() || w < 0.0 {
            return Err(Error::data(format!("{w} is not a weight (must be >= 0)")));
        }
        let x = 1.0 + w.min(self.cap) * (y - hi) / (self.cap * (hi - lo));
        let stake = self.stake();
        self.bet(x, stake);
        self.rows += 1;
        self.sum += x;
        let centre = (0.5 + self.sum) / (self.rows as f64 + 1.0);
        self.squares += (x - centre) * (x - centre);
        Ok(self.interval())
    }

    /// sqrt(2 ln(2/alpha) / (s^2 t ln(1 + t))), s^2 the variance of the rows so far (1/4 before the first).
    fn stake(&self) -> f64 {
        let t = self.rows as f64 + 1.0;
        let variance = (0.25 + self.squares) / t;
        (2.0 * (2.0 / self.alpha).ln() / (variance * t * t.ln_1p())).sqrt().min(MOST)
    }

    fn bet(&mut self, x: f64, stake: f64) {
        let limit = 2.0 / self.alpha;
        let step = 1.0 / CANDIDATES as f64;
        for k in self.low..=self.high {
            let gain = stake * (x - k as f64 * step);
            self.above[k] *= 1.0 + gain;
            self.below[k] *= 1.0 - gain;
        }
        // the end is the last candidate that is ruled out: the truth may lie between it and the next
        while self.low < self.high && self.above[self.low + 1] >= limit {
            self.low += 1;
        }
        while self.high > self.low && self.below[self.high - 1] >= limit {
            self.high -= 1;
        }
    }

    /// The interval as it stands: everything any row so far has left possible.
    pub fn interval(&self) -> (f64, f64) {
        let [lo, hi] = self.range;
        let cost = |k: usize| hi + (k as f64 / CANDIDATES as f64 - 1.0) * self.cap * (hi - lo);
        (cost(self.low), cost(self.high))
    }

    /// Rows seen.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}
