//! Has the world moved between two parts of a log?

use crate::data::{Summaries, Summary};
use crate::error::Result;
use crate::math::erfc;
use crate::source::Source;
use serde::{Deserialize, Serialize};
use std::f64::consts::FRAC_1_SQRT_2;
use std::fmt;

/// How one column differs between two parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Moved {
    /// The column.
    pub column: String,
    /// Its mean in the earlier and in the later part, on the user's scale.
    pub means: [f64; 2],
    /// The difference in standard deviations of the earlier part.
    pub by: f64,
    /// How likely so large a difference is without any drift, times the number of columns (Bonferroni).
    pub p_value: f64,
}

/// Columns by how far they moved, the furthest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Drift {
    /// Every context, action and the outcome.
    pub columns: Vec<Moved>,
}

impl Drift {
    /// Columns that moved beyond chance (p below .01), by at least a tenth of their spread.
    pub fn moved(&self) -> impl Iterator<Item = &Moved> {
        self.columns.iter().filter(|m| m.p_value < 0.01 && m.by.abs() >= 0.1)
    }
}

/// Compares the columns of two parts, such as what was learned from and what came later.
///
/// A certificate is about rows like those of the test part; where contexts or outcomes have moved since, the next month may move them on.
///
/// ```
/// use counterpoint::describe::drift;
/// use counterpoint::Log;
/// let part = |shift: f64| {
///     let x: Vec<f64> = (0..400).map(|i| (f64::from(i) * 0.618).fract() + shift).collect();
///     Log::builder().context("x", x).action("a", vec![1.0; 400]).cost("y", vec![0.0; 400]).propensity("p", vec![0.5; 400]).build()
/// };
/// assert!(drift(&part(0.0)?, &part(0.0)?)?.moved().next().is_none());
/// let moved = drift(&part(0.0)?, &part(0.2)?)?;
/// assert_eq!(moved.moved().map(|m| m.column.as_str()).collect::<Vec<_>>(), ["x"]);
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub fn drift(earlier: &dyn Source, later: &dyn Source) -> Result<Drift> {
    let (a, b) = (earlier.get(Summaries)?, later.get(Summaries)?);
    let schema = earlier.schema();
    let user = |v: f64| schema.direction.to_user(v);
    let plain = |v: f64| v;
    let pairs = schema
        .contexts
        .iter()
        .chain(&schema.actions)
        .zip(a.contexts.iter().chain(&a.actions).zip(b.contexts.iter().chain(&b.actions)));
    let number = (schema.contexts.len() + schema.actions.len() + 1) as f64;
    let mut columns: Vec<Moved> = pairs.map(|(n, (a, b))| moved(n, [a, b], &plain, number)).collect();
    columns.push(moved(&schema.outcome, [&a.cost, &b.cost], &user, number));
    columns.sort_by(|x, y| y.by.abs().total_cmp(&x.by.abs()));
    Ok(Drift { columns })
}

fn moved(column: &str, [a, b]: [&Summary; 2], user: &dyn Fn(f64) -> f64, columns: f64) -> Moved {
    let means = [user(a.mean()), user(b.mean())];
    let (difference, spread) = (means[1] - means[0], a.std());
    let error = (a.std() * a.std() / a.n + b.std() * b.std() / b.n).sqrt();
    let (by, z) = match () {
        () if difference == 0.0 => (0.0, 0.0),
        () if spread > 0.0 => (difference / spread, difference / error),
        // a column that did not vary, and now does or has another value
        () => (difference.signum() * f64::MAX, f64::MAX),
    };
    let p_value = (columns * erfc(z.abs() * FRAC_1_SQRT_2)).min(1.0);
    Moved { column: column.into(), means, by, p_value }
}

/// "x0: 0.42 to 0.61 (+0.65 std)"
impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:.4} to {:.4}", self.column, self.means[0], self.means[1])?;
        if self.by.abs() < f64::MAX { write!(f, " ({:+.2} std)", self.by) } else { Ok(()) }
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moved: Vec<String> = self.moved().map(ToString::to_string).collect();
        if moved.is_empty() { f.write_str("no column moved beyond chance") } else { f.write_str(&moved.join("; ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means 0 and .5, spreads 1 and 1, 100 and 25 rows: z = .5 / sqrt(.01 + .04) = 2.236, p = .02535, times 4 columns.
    #[test]
    fn a_move_by_hand() {
        let summary = |mean: f64, n: usize| {
            let mut s = Summary::default();
            // half a step to either side, such that the sample variance is 1
            let step = ((n - 1) as f64 / n as f64).sqrt();
            (0..n).for_each(|i| s.add(mean + if i < n / 2 { step } else { -step }, 1.0));
            s
        };
        let m = moved("x", [&summary(0.0, 100), &summary(0.5, 26)], &|v| v, 4.0);
        let z = 0.5 / (0.01f64 + 1.0 / 26.0).sqrt();
        assert!((m.by - 0.5).abs() < 1e-12 && (m.p_value - 4.0 * erfc(z * FRAC_1_SQRT_2)).abs() < 1e-12);
        assert!((0.09..0.11).contains(&m.p_value), "{}", m.p_value);
    }
}
