//! The axis of actions: the scale on which noise is normal, the bounds, and the grid where actions are points.
//!
//! On the axis an action is a position u: the action itself, or its logarithm where all logged actions are positive and their
//! logarithms are closer to normal than they are. A policy with mean m and std s draws u from the normal law N(m, s^2) cut to
//! the bounds,
//!
//! ```text
//! pi(a) = phi((u - m)/s) / (s Z) |du/da|,   Z = Phi((hi - m)/s) - Phi((lo - m)/s),   lo <= u <= hi
//! ```
//!
//! so no draw leaves the bounds, and prices stay positive. On a grid (price points, whole milligrams) a point has the mass of
//! the normal law between the middles to its neighbours, the outer points that of everything beyond: probabilities that add
//! up to one, to be compared with the probabilities of the log.

use super::family::{HALF_LN_2PI, bell, normal_cdf};
use crate::error::{Error, Result};
use crate::math;
use crate::rng::StandardNormal;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

/// The scale on which positions are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AxisScale {
    /// u = a
    #[default]
    Linear,
    /// u = ln a, for positive actions
    Log,
}

impl AxisScale {
    /// The logarithmic scale where actions, in ascending order, are positive and their logarithms are clearly less skewed than they are.
    pub(crate) fn of(sorted: &[f64]) -> AxisScale {
        if sorted.first().is_none_or(|a| *a <= 0.0) {
            return AxisScale::Linear;
        }
        let logs: Vec<f64> = sorted.iter().map(|a| math::ln(*a)).collect();
        if skew(&logs).abs() + 0.3 < skew(sorted).abs() { AxisScale::Log } else { AxisScale::Linear }
    }

    /// The position of an action; not finite outside the scale.
    pub fn position(self, a: f64) -> f64 {
        match self {
            AxisScale::Linear => a,
            AxisScale::Log => math::ln(a),
        }
    }

    /// The action at a position.
    pub fn action(self, u: f64) -> f64 {
        match self {
            AxisScale::Linear => u,
            AxisScale::Log => math::exp(u),
        }
    }

    /// ln |du/da|: what turns the logarithm of a density of positions into one of actions.
    pub fn log_slope(self, a: f64) -> f64 {
        match self {
            AxisScale::Linear => 0.0,
            AxisScale::Log => -math::ln(a),
        }
    }
}

/// The skewness of sorted numbers between their outer half percents.
fn skew(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    let inner = &sorted[n / 200..n - n / 200];
    let count = inner.len() as f64;
    let mean = inner.iter().sum::<f64>() / count;
    let central = |k: i32| inner.iter().map(|v| math::powi(v - mean, k)).sum::<f64>() / count;
    central(3) / math::pow(central(2), 1.5).max(f64::MIN_POSITIVE)
}

/// What the propensity of an action on a grid is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointMeasure {
    /// A probability.
    #[default]
    Probability,
    /// A density: the probability divided by the width of the point's cell.
    Density,
}

/// Where a policy may act, and how its noise is spread there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The scale of positions.
    pub scale: AxisScale,
    /// The smallest and the largest action.
    pub bounds: [f64; 2],
    /// The points of the grid, ascending, on the action's own scale; absent: every action between the bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<f64>>,
    /// What propensities of points are.
    #[serde(default)]
    pub measure: PointMeasure,
    /// Positions at which loss models are tabulated, ascending; those of the points on a grid.
    pub knots: Vec<f64>,
}

/// Points that are closer than this share of the spacing are one point.
const SAME_POINT: f64 = 1e-6;

impl Axis {
    /// Refuses parts that do not fit each other.
    pub fn check(&self) -> Result<()> {
        let [lo, hi] = self.bounds;
        let rising = |v: &[f64]| v.iter().all(|k| k.is_finite()) && v.windows(2).all(|w| w[0] < w[1]);
        let inside = |a: f64| (lo..=hi).contains(&a);
        let (from, to) = (self.scale.position(lo), self.scale.position(hi));
        let points = self
            .points
            .as_ref()
            .is_none_or(|p| p.len() == self.knots.len() && p.len() > 1 && rising(p) && p.iter().all(|a| inside(*a)));
        if lo < hi && from.is_finite() && to.is_finite() && points && self.knots.len() > 1 && rising(&self.knots) {
            return Ok(());
        }
        Err(Error::policy(format!("its axis of actions from {lo} to {hi} is damaged")))
    }

    /// The bounds as positions.
    pub fn ends(&self) -> [f64; 2] {
        self.bounds.map(|a| self.scale.position(a))
    }

    /// The point of the grid that an action is; nothing off the grid. Where propensities are densities, an action is the point whose
    /// cell it lies in: a log without a grid can then be weighed by a policy with one.
    fn point(&self, points: &[f64], a: f64) -> Option<usize> {
        let k = points.partition_point(|p| *p < a);
        if self.measure == PointMeasure::Density {
            let last = points.len() - 1;
            let inside = |k: usize| (a - points[k]).abs() <= 0.5 * Self::width(points, k) * (1.0 + SAME_POINT);
            let cell = if k > 0 && (k > last || a - points[k - 1] < points[k] - a) { k - 1 } else { k };
            return Some(cell).filter(|&k| (k > 0 && k < last) || inside(k));
        }
        let near = |k: usize| {
            let next = if k + 1 < points.len() { points[k + 1] - points[k] } else { points[k] - points[k - 1] };
            (a - points[k]).abs() <= SAME_POINT * next
        };
        [k.checked_sub(1), Some(k)].into_iter().flatten().find(|&k| k < points.len() && near(k))
    }

    /// The ends of the cell of knot k on a grid, as positions; the outer cells are open.
    fn cell(&self, k: usize) -> [f64; 2] {
        let middle = |i: usize| 0.5 * (self.knots[i] + self.knots[i + 1]);
        [
            if k == 0 { f64::NEG_INFINITY } else { middle(k - 1) },
            if k + 1 == self.knots.len() { f64::INFINITY } else { middle(k) },
        ]
    }

    /// The width of the cell of point k on the action's own scale: outer cells reach as far out as in.
    pub(crate) fn width(points: &[f64], k: usize) -> f64 {
        let left = if k > 0 { points[k] - points[k - 1] } else { points[1] - points[0] };
        let right = if k + 1 < points.len() { points[k + 1] - points[k] } else { points[k] - points[k - 1] };
        0.5 * (left + right)
    }

    /// ln pi(a) of the policy with this mean and std as positions; minus infinity outside bounds and grid.
    pub fn log_density(&self, mean: f64, std: f64, a: f64) -> f64 {
        if let Some(points) = &self.points {
            let Some(k) = self.point(points, a) else { return f64::NEG_INFINITY };
            let width = match self.measure {
                PointMeasure::Probability => 1.0,
                PointMeasure::Density => Self::width(points, k),
            };
            return math::ln(between(self.cell(k), mean, std) / width);
        }
        if !(self.bounds[0]..=self.bounds[1]).contains(&a) {
            return f64::NEG_INFINITY;
        }
        let z = (self.scale.position(a) - mean) / std;
        let mass = between(self.ends(), mean, std).max(f64::MIN_POSITIVE);
        -0.5 * z * z - HALF_LN_2PI - math::ln(std) - math::ln(mass) + self.scale.log_slope(a)
    }

    /// The probability of [low, high], ends on the action's own scale.
    pub fn mass_within(&self, mean: f64, std: f64, low: f64, high: f64) -> f64 {
        if let Some(points) = &self.points {
            let inside = |k: &usize| (low..=high).contains(&points[*k]);
            return (0..points.len()).filter(inside).map(|k| between(self.cell(k), mean, std)).sum();
        }
        let [lo, hi] = self.ends();
        let cut = |a: f64| {
            if a <= self.bounds[0] {
                lo
            } else if a >= self.bounds[1] {
                hi
            } else {
                self.scale.position(a)
            }
        };
        let mass = between([lo, hi], mean, std).max(f64::MIN_POSITIVE);
        (between([cut(low), cut(high)], mean, std) / mass).clamp(0.0, 1.0)
    }

    /// The action below which a share `level` of the law lies, on the action's own scale.
    pub fn quantile(&self, mean: f64, std: f64, level: f64) -> f64 {
        if let Some(points) = &self.points {
            let mut below = 0.0;
            for (k, point) in points.iter().enumerate() {
                below += between(self.cell(k), mean, std);
                if below >= level {
                    return *point;
                }
            }
            return points[points.len() - 1];
        }
        let [mut low, mut high] = self.ends();
        let whole = between([low, high], mean, std).max(f64::MIN_POSITIVE);
        let start = low;
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if between([start, middle], mean, std) < level * whole { low = middle } else { high = middle }
        }
        self.scale.action(0.5 * (low + high)).clamp(self.bounds[0], self.bounds[1])
    }

    /// A draw.
    pub fn sample(&self, mean: f64, std: f64, rng: &mut dyn Rng) -> f64 {
        if let Some(points) = &self.points {
            let z: f64 = rng.sample(StandardNormal);
            let u = mean + std * z;
            let k = (0..points.len() - 1).take_while(|&k| u > 0.5 * (self.knots[k] + self.knots[k + 1])).count();
            return points[k];
        }
        let [lo, hi] = self.ends();
        let (from, to) = ((lo - mean) / std, (hi - mean) / std);
        let u = if from > FAR {
            lo
        } else if to < -FAR {
            hi
        } else {
            mean + std * cut_normal(from, to, rng)
        };
        self.scale.action(u).clamp(self.bounds[0], self.bounds[1])
    }

    /// The expectation of each knot's hat: sum_k out_k f_k is E f for f joined by lines between the knots, flat beyond them.
    ///
    /// On an interval [g, h] with mass m and first moment M of the law, the knot h takes (M - g m)/(h - g) and g the rest.
    pub fn weights(&self, mean: f64, std: f64, out: &mut [f64]) {
        out.fill(0.0);
        if self.points.is_some() {
            (0..out.len()).for_each(|k| out[k] = between(self.cell(k), mean, std));
            return;
        }
        let [lo, hi] = self.ends();
        let (g, last) = (&self.knots, self.knots.len() - 1);
        let mass = between([lo, hi], mean, std);
        if mass.is_nan() || mass <= 1e-300 {
            // the mean lies far outside: all mass at the nearer end
            out[if mean < lo { 0 } else { last }] = 1.0;
            return;
        }
        let moments = |from: f64, to: f64| {
            let m = between([from, to], mean, std);
            (m, mean * m - std * (bell((to - mean) / std) - bell((from - mean) / std)))
        };
        out[0] += between([lo, g[0].clamp(lo, hi)], mean, std);
        out[last] += between([g[last].clamp(lo, hi), hi], mean, std);
        for k in 0..last {
            let (from, to) = (g[k].clamp(lo, hi), g[k + 1].clamp(lo, hi));
            if from < to {
                let (m, first) = moments(from, to);
                let right = ((first - g[k] * m) / (g[k + 1] - g[k])).clamp(0.0, m);
                out[k] += m - right;
                out[k + 1] += right;
            }
        }
        out.iter_mut().for_each(|w| *w /= mass);
    }
}

/// Phi(to) - Phi(from) of the normal law, from the side on which no digits are lost.
fn between([from, to]: [f64; 2], mean: f64, std: f64) -> f64 {
    let (a, b) = ((from - mean) / std, (to - mean) / std);
    let m = if a > 0.0 { normal_cdf(-a) - normal_cdf(-b) } else { normal_cdf(b) - normal_cdf(a) };
    m.max(0.0)
}

/// Beyond so many standard deviations what is left of the normal law lies at the nearer end, and has no density that is a number.
const FAR: f64 = 1e9;

/// A standard normal number between two ends, by rejection where much of the law lies between them, else by Robert's (1995)
/// exponential or uniform proposals.
fn cut_normal(lo: f64, hi: f64, rng: &mut dyn Rng) -> f64 {
    if lo > hi - 1e-12 {
        return lo;
    }
    if lo.is_nan() || hi.is_nan() {
        return f64::NAN; // nothing would ever be accepted
    }
    // the mirror, so that the end nearer to the middle is the lower one
    if lo + hi < 0.0 && hi < 0.5 {
        return -cut_normal(-hi, -lo, rng);
    }
    if lo <= 0.5 && hi - lo > 1.0 {
        loop {
            let z: f64 = rng.sample(StandardNormal);
            if (lo..=hi).contains(&z) {
                return z;
            }
        }
    }
    let rate = 0.5 * (lo + (lo * lo + 4.0).sqrt());
    if lo > 0.5 && (hi - lo) * rate > 1.0 {
        loop {
            let z = lo - math::ln(rng.random::<f64>().max(f64::MIN_POSITIVE)) / rate;
            if z <= hi && rng.random::<f64>() <= math::exp(-0.5 * (z - rate) * (z - rate)) {
                return z;
            }
        }
    }
    let top = if lo <= 0.0 && hi >= 0.0 { 0.0 } else { lo.abs().min(hi.abs()) };
    loop {
        let z = lo + (hi - lo) * rng.random::<f64>();
        if rng.random::<f64>() <= math::exp(0.5 * (top * top - z * z)) {
            return z;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, stream};

    fn axes() -> Vec<Axis> {
        let knots = vec![0.5, 1.0, 1.7, 2.5, 4.0];
        let plain = Axis {
            scale: AxisScale::Linear,
            bounds: [0.2, 5.0],
            points: None,
            measure: PointMeasure::default(),
            knots: knots.clone(),
        };
        let logs: Vec<f64> = knots.iter().map(|k: &f64| k.ln()).collect();
        let log = Axis { scale: AxisScale::Log, knots: logs.clone(), ..plain.clone() };
        let grid = Axis { points: Some(knots.clone()), ..plain.clone() };
        let density = Axis { measure: PointMeasure::Density, ..grid.clone() };
        vec![plain, log, grid, density]
    }

    /// The integral of a function of the action under the law, by fine steps or by points.
    fn integral(axis: &Axis, mean: f64, std: f64, f: &dyn Fn(f64) -> f64) -> f64 {
        if let Some(points) = &axis.points {
            let width = |k| if axis.measure == PointMeasure::Density { Axis::width(points, k) } else { 1.0 };
            return (0..points.len())
                .map(|k| f(points[k]) * width(k) * axis.log_density(mean, std, points[k]).exp())
                .sum();
        }
        let n = 200_000;
        let [lo, hi] = axis.bounds;
        let step = (hi - lo) / f64::from(n);
        (0..n)
            .map(|i| lo + (f64::from(i) + 0.5) * step)
            .map(|a| f(a) * axis.log_density(mean, std, a).exp() * step)
            .sum()
    }

    #[test]
    fn densities_add_up_to_one_and_weights_are_expectations_of_hats() {
        for axis in axes() {
            axis.check().expect("an axis");
            for (a, std) in [(1.2, 0.3), (0.21, 0.6), (4.9, 0.05), (2.0, 3.0)] {
                let mean = axis.scale.position(a);
                assert!((integral(&axis, mean, std, &|_| 1.0) - 1.0).abs() < 1e-5);
                let values = [3.0, -1.0, 0.5, 2.0, 7.0];
                let joined = |a: f64| {
                    let u = axis.scale.position(a);
                    let k = axis.knots.partition_point(|g| *g <= u);
                    if k == 0 {
                        return values[0];
                    }
                    if k == 5 {
                        return values[4];
                    }
                    let t = (u - axis.knots[k - 1]) / (axis.knots[k] - axis.knots[k - 1]);
                    values[k - 1] + t * (values[k] - values[k - 1])
                };
                let mut w = vec![0.0; 5];
                axis.weights(mean, std, &mut w);
                let expected: f64 = w.iter().zip(values).map(|(w, v)| w * v).sum();
                assert!((expected - integral(&axis, mean, std, &joined)).abs() < 1e-4, "{axis:?} {a} {std}");
                let middle = axis.quantile(mean, std, 0.5);
                assert!(axis.mass_within(mean, std, 0.0, middle) >= 0.5 - 1e-9, "{axis:?} {middle}");
                assert!(axis.mass_within(mean, std, middle, 9.0) >= 0.5 - 1e-9, "{axis:?} {middle}");
                let within = axis.mass_within(mean, std, 0.9, 2.6);
                let share = integral(&axis, mean, std, &|a| f64::from(u8::from((0.9..=2.6).contains(&a))));
                assert!((within - share).abs() < 1e-4, "{within} {share}");
            }
        }
    }

    /// Draws stay inside and have the mean of the law: 4 standard errors.
    #[test]
    fn draws_follow_the_law() {
        for axis in axes() {
            for (a, std) in [(1.2, 0.3), (0.21, 0.6), (4.99, 0.02), (2.0, 3.0), (0.2, 0.01)] {
                let mean = axis.scale.position(a);
                let n = 20_000;
                let mut rng = stream(5, Purpose::Act, 1);
                let draws: Vec<f64> = (0..n).map(|_| axis.sample(mean, std, &mut rng)).collect();
                assert!(draws.iter().all(|d| axis.log_density(mean, std, *d) > f64::NEG_INFINITY));
                let truth = integral(&axis, mean, std, &|a| a);
                let var = integral(&axis, mean, std, &|a| (a - truth) * (a - truth));
                let got = draws.iter().sum::<f64>() / f64::from(n);
                assert!(
                    (got - truth).abs() < 4.0 * (var / f64::from(n)).sqrt() + 1e-4,
                    "{axis:?} {a} {std}: {got} {truth}"
                );
            }
        }
    }

    /// A mean that a damaged policy or a context far outside gives: the nearer end, or no number; never a draw without end.
    #[test]
    fn draws_end_wherever_the_mean_lies() {
        let mut rng = stream(5, Purpose::Act, 1);
        for axis in axes() {
            for far in [1e9, 1e99, 1e101, 1e160, 1e308] {
                for std in [1e-300, 0.3, 1e300] {
                    let ends = [far, -far].map(|mean| axis.sample(mean, std, &mut rng));
                    let [lo, hi] = axis.bounds;
                    assert!(ends.iter().all(|a| (lo..=hi).contains(a)), "{far} {std}: {ends:?}");
                    assert!(std > 1.0 || ends[0] > ends[1], "{far} {std}: {ends:?}");
                }
            }
            assert!(axis.points.is_some() || axis.sample(f64::NAN, 0.3, &mut rng).is_nan());
            assert!(axis.bounds.contains(&axis.sample(f64::INFINITY, 0.3, &mut rng)) || axis.points.is_some());
        }
    }
}
