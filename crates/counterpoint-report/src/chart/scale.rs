//! From a value to a place on the page, and where the ticks go.

use crate::words;

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Linear,
    /// By the logarithm; values must be positive.
    Log,
}

/// An axis: values from `low` to `high` lie between the places `from` and `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    kind: Kind,
    pub(crate) low: f64,
    pub(crate) high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// A linear axis. An empty range is widened, so that every value has a place.
    pub(crate) fn linear((low, high): (f64, f64), from: f64, to: f64) -> Self {
        let (low, high) = widened(low, high);
        Scale { kind: Kind::Linear, low, high, from, to }
    }

    /// A logarithmic axis; a range that is not positive is replaced by a decade around one.
    pub(crate) fn log((low, high): (f64, f64), from: f64, to: f64) -> Self {
        let usable = low > 0.0 && low.is_finite() && high.is_finite() && high >= low;
        let (low, high) = match usable {
            true if high > low => (low, high),
            true => (low / 2.0, high * 2.0),
            false => (0.1, 10.0),
        };
        Scale { kind: Kind::Log, low, high, from, to }
    }

    /// The place of a value; what lies beyond the axis is put at its end.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let (low, high, v) = match self.kind {
            Kind::Linear => (self.low, self.high, value),
            Kind::Log => (self.low.ln(), self.high.ln(), value.max(f64::MIN_POSITIVE).ln()),
        };
        let share = ((v - low) / (high - low)).clamp(0.0, 1.0);
        self.from + if share.is_finite() { share } else { 0.0 } * (self.to - self.from)
    }

    /// The value at a share of the axis.
    pub(crate) fn value(&self, share: f64) -> f64 {
        match self.kind {
            Kind::Linear => self.low + share * (self.high - self.low),
            Kind::Log => (self.low.ln() + share * (self.high.ln() - self.low.ln())).exp(),
        }
    }

    /// About `about` round values on the axis, with their labels.
    pub(crate) fn ticks(&self, about: usize) -> Vec<(f64, String)> {
        match self.kind {
            Kind::Linear => linear_ticks(self.low, self.high, about),
            Kind::Log => log_ticks(self.low, self.high, about),
        }
    }
}

/// The smallest and largest finite value; nothing finite gives nothing.
pub(crate) fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|v| v.is_finite()).fold(None, |seen, v| match seen {
        None => Some((v, v)),
        Some((low, high)) => Some((low.min(v), high.max(v))),
    })
}

/// The range with `share` of its width added at both ends.
pub(crate) fn padded((low, high): (f64, f64), share: f64) -> (f64, f64) {
    let (low, high) = widened(low, high);
    let room = share * (high - low);
    (low - room, high + room)
}

fn widened(low: f64, high: f64) -> (f64, f64) {
    if !(low.is_finite() && high.is_finite() && (high - low).is_finite()) {
        return (0.0, 1.0);
    }
    let (low, high) = (low.min(high), low.max(high));
    let least = 1e-9 * low.abs().max(high.abs());
    if high - low > least {
        return (low, high);
    }
    let room = if low == 0.0 { 1.0 } else { 0.1 * low.abs() };
    (low - room, high + room)
}

/// Multiples of 1, 2 or 5 times a power of ten, all labelled with the same number of decimals.
fn linear_ticks(low: f64, high: f64, about: usize) -> Vec<(f64, String)> {
    let rough = (high - low) / about.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = power * [1.0, 2.0, 5.0, 10.0].into_iter().find(|m| m * power >= rough * 0.999).unwrap_or(10.0);
    let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    let slack = 1e-9 * step;
    let first = ((low - slack) / step).ceil();
    (0..)
        .map(|i| (first + f64::from(i)) * step)
        .take_while(|v| *v <= high + slack)
        .take(50)
        .map(|v| {
            let plain = high.abs().max(low.abs()) < 1e7 && step >= 1e-6;
            (v, if plain { words::fixed(v, decimals) } else { words::short(v) })
        })
        .collect()
}

/// Powers of ten; with 2 and 5 between them where fewer than two decades are seen.
fn log_ticks(low: f64, high: f64, about: usize) -> Vec<(f64, String)> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let decades = (high / low).log10();
    let every = ((decades / about.max(1) as f64).ceil() as i32).max(1);
    let within: &[f64] = if decades < 2.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let mut ticks = Vec::new();
    for power in (first..=last).filter(|p| p.rem_euclid(every) == 0) {
        for m in within {
            // by division for negative powers: 1/1000 is the double nearest to 0.001, 10^-3 need not be
            let v = if power < 0 { m / 10f64.powi(-power) } else { m * 10f64.powi(power) };
            if v >= low * (1.0 - 1e-9) && v <= high * (1.0 + 1e-9) {
                ticks.push((v, power_label(v)));
            }
        }
    }
    // an axis within a factor of two or so: round values in equal steps are all there is
    if ticks.len() < 2 { linear_ticks(low, high, about) } else { ticks }
}

/// A label on a logarithmic axis: a power of ten where the digits would be zeros.
fn power_label(value: f64) -> String {
    if (1e-3..1e5).contains(&value) { words::short(value) } else { format!("{value:e}").replace('-', "\u{2212}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_few_and_on_the_axis() {
        for (low, high) in
            [(0.0, 1.0), (-3.2, 7.9), (0.5238, 0.5239), (1e5, 3e6), (-1e-7, 1e-7), (2.0, 2.0), (0.0, 0.0)]
        {
            let scale = Scale::linear((low, high), 0.0, 100.0);
            let ticks = scale.ticks(5);
            assert!((2..=11).contains(&ticks.len()), "{low} to {high}: {ticks:?}");
            assert!(ticks.iter().all(|t| (-1e-6..=100.0 + 1e-6).contains(&scale.at(t.0))), "{ticks:?}");
            let mut labels: Vec<&String> = ticks.iter().map(|t| &t.1).collect();
            labels.dedup();
            assert_eq!(labels.len(), ticks.len(), "{ticks:?}");
        }
        let labels = |s: Scale| s.ticks(6).into_iter().map(|t| t.1).collect::<Vec<_>>();
        assert_eq!(labels(Scale::linear((0.0, 1.0), 0.0, 1.0)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(Scale::log((1e-3, 1e2), 0.0, 1.0)), ["0.001", "0.01", "0.1", "1", "10", "100"]);
        assert_eq!(labels(Scale::log((1.0, 60.0), 0.0, 1.0)), ["1", "2", "5", "10", "20", "50"]);
        assert!(Scale::log((1e-12, 1e3), 0.0, 1.0).ticks(6).len() <= 8);
        assert_eq!(range([f64::NAN, 2.0, f64::INFINITY, -1.0]), Some((-1.0, 2.0)));
        assert_eq!(range([f64::NAN]), None);
    }
}
