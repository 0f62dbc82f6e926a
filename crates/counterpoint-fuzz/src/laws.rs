//! Laws for any numbers: bytes become small logs, policies and weights, of all sizes up to the extreme.

use crate::mutate::Dice;
use counterpoint::certify::{Terms, certify};
use counterpoint::policy::Family;
use counterpoint::{Estimator, Log, Policy, evaluate};

/// Numbers from bytes: eight at a time, and then from a generator that the bytes have seeded.
struct Numbers<'a> {
    bytes: &'a [u8],
    dice: Dice,
}

impl<'a> Numbers<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let seed = bytes.iter().fold(bytes.len() as u64, |s, b| s.wrapping_mul(31).wrapping_add(u64::from(*b)));
        Numbers { bytes, dice: Dice::new(seed) }
    }

    fn raw(&mut self) -> u64 {
        match self.bytes.split_first_chunk::<8>() {
            Some((first, rest)) => {
                self.bytes = rest;
                u64::from_le_bytes(*first)
            }
            None => self.dice.next(),
        }
    }

    /// Between 0 and 1.
    fn share(&mut self) -> f64 {
        (self.raw() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }

    /// A positive number whose logarithm is spread evenly.
    fn size(&mut self, tens: f64) -> f64 {
        10f64.powf(self.between(-tens, tens))
    }
}

fn log_of(n: &mut Numbers, rows: usize, tens: f64) -> Option<Log> {
    let mut column = |f: &mut dyn FnMut(&mut Numbers) -> f64| (0..rows).map(|_| f(n)).collect::<Vec<f64>>();
    let x = column(&mut |n| n.between(-3.0, 3.0));
    let a = column(&mut |n| n.between(-3.0, 3.0));
    let y = column(&mut |n| n.between(-1.0, 1.0));
    let p = column(&mut |n| n.size(tens));
    Log::builder().context("x", x).action("a", a).cost("y", y).propensity("p", p).build().ok()
}

fn policy_of(n: &mut Numbers) -> Option<Policy> {
    let (mean, std) = (n.between(-2.0, 2.0), n.size(1.0));
    Policy::constant(Family::Normal, &["x"], &["a"], &[mean], &[std]).ok()
}

/// The vector code's self-normalised estimate is the sum over rows written out.
pub(crate) fn estimates(bytes: &[u8]) -> bool {
    let mut n = Numbers::new(bytes);
    let rows = 1 + n.raw() as usize % 300;
    let (Some(log), Some(policy)) = (log_of(&mut n, rows, 2.0), policy_of(&mut n)) else { return false };
    let Ok(e) = evaluate(&log, &policy, &Estimator::SNIPS) else { return false };
    let log_w = log.blocks().iter().flat_map(|b| {
        let policy = &policy;
        (0..b.rows()).map(move |i| (policy.log_density(&[b.x[0][i]], &[b.a[0][i]]) - b.log_p[i], b.y[i]))
    });
    let rows: Vec<(f64, f64)> = log_w.collect();
    // the scale cancels, and weights that all vanish without it do not with it
    let largest = rows.iter().fold(f64::NEG_INFINITY, |m, (l, _)| m.max(*l));
    let (mut up, mut down) = (0.0, 0.0);
    for (l, y) in &rows {
        let w = (l - largest).exp();
        up += w * y;
        down += w;
    }
    let plain = up / down;
    assert!((e.estimate - plain).abs() <= 1e-9, "{} by the kernel, {plain} by hand", e.estimate);
    true
}

/// E exp(-alpha/2 (a - z)^2) in closed form is the integral over the law, by the trapezoid rule in the normal coordinate.
pub(crate) fn expectations(bytes: &[u8]) -> bool {
    let mut n = Numbers::new(bytes);
    let family = [Family::Normal, Family::LogNormal][n.raw() as usize % 2];
    let (mean, std) = (n.between(0.3, 3.0), n.between(0.05, 1.5));
    let (z, alpha) = (n.between(-1.0, 4.0), n.size(1.0));
    let closed = family.kernel(mean, std, z, alpha).value;
    let (steps, reach) = (4000, 9.0);
    let step = 2.0 * reach / f64::from(steps);
    let term = |i: i32| {
        let u = -reach + step * f64::from(i);
        let a = family.at(u, mean, std).value;
        (-0.5 * u * u - 0.5 * alpha * (a - z) * (a - z)).exp()
    };
    let integral = (0..=steps).map(term).sum::<f64>() * step / std::f64::consts::TAU.sqrt();
    assert!((closed - integral).abs() <= 1e-7, "{family:?} {mean} {std} {z} {alpha}: {closed} against {integral}");
    true
}

/// A certificate on weights of any size is refused, or has intervals that are intervals.
pub(crate) fn certificates(bytes: &[u8]) -> bool {
    let mut n = Numbers::new(bytes);
    let rows = 2 + n.raw() as usize % 60;
    let tens = [1.0, 10.0, 150.0, 300.0][n.raw() as usize % 4];
    let (valid, test) = (log_of(&mut n, rows, tens), log_of(&mut n, rows, tens));
    let (Some(valid), Some(test), Some(policy)) = (valid, test, policy_of(&mut n)) else { return false };
    let Ok(c) = certify(&policy, &valid, &test, &Terms { bootstrap: 100, ..Terms::default() }) else { return false };
    for i in [&c.logged, &c.value, &c.difference] {
        assert!(!i.estimate.is_nan() && i.lower <= i.estimate && i.estimate <= i.upper, "{i:?}");
    }
    assert!((0.0..=1.0).contains(&c.p_value), "a p-value of {}", c.p_value);
    true
}
