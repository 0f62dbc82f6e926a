//! How far to go along a direction: a step that satisfies the strong Wolfe conditions (More and Thuente 1994).
//!
//! ```text
//! phi(t)    = F(theta + t d)
//! phi(t)   <= phi(0) + c1 t phi'(0)        the decrease is a fair share of what the slope promised
//! |phi'(t)| <= c2 |phi'(0)|                and the slope is used up
//! ```
//!
//! The decision is that the search is a machine of scalars ([`Bracket`]) that is told phi and phi' and answers with
//! the next step, and that the walk along the direction is the only place with vectors. A trial that is not finite
//! carries no number to interpolate, only the news that the step was too long: the machine pulls back towards the
//! best step known and does not extrapolate past that wall again.

use super::point::{Counted, Point, dot};
use crate::error::Result;
use crate::math;

/// The constants of a search.
#[derive(Clone, Copy)]
pub(super) struct LineSearch {
    /// Share of the promised decrease that is asked for.
    pub(super) c1: f64,
    /// Share of the slope that may be left.
    pub(super) c2: f64,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    /// Both conditions hold.
    Wolfe,
    /// The value is lower than at the start of the search, but the conditions could not be met.
    Lower,
    /// No trial was lower.
    Nothing,
}

/// Trials of one search.
const TRIALS: usize = 20;
/// A bracket narrower than this share of its upper end is as good as a step.
const WIDTH: f64 = 0.1;
/// Extrapolation reaches this many times the last advance beyond it.
const REACH: f64 = 4.0;
/// How far towards a wall of non-finite values the next trial goes.
const RETREAT: f64 = 0.25;
/// The longest step.
const LONGEST: f64 = 1e10;

impl LineSearch {
    /// Searches from `now` along `d`, trying `first` first. The point found is left in `trial`, and `spare` is scratch.
    pub(super) fn run(
        &self,
        f: &mut Counted,
        (now, d): (&Point, &[f64]),
        first: f64,
        (trial, spare): (&mut Point, &mut Point),
    ) -> Result<(Found, f64)> {
        let slope = dot(&now.grad, d);
        if !(slope < 0.0 && slope.is_finite() && first > 0.0 && first.is_finite()) {
            return Ok((Found::Nothing, 0.0));
        }
        let mut bracket = Bracket::new(now.value, slope, first.min(LONGEST), self);
        spare.value = f64::INFINITY;
        let mut best = 0.0;
        for _ in 0..TRIALS {
            let step = bracket.step;
            // F is the same to its last bits there: a trial would measure rounding
            if is_too_short(&now.theta, step, d) {
                break;
            }
            trial.step_from(now, step, d);
            f.eval(trial)?;
            let next = if trial.is_finite() {
                let next = bracket.narrow(trial.value, dot(&trial.grad, d));
                if next == Next::Accept {
                    return Ok((Found::Wolfe, step));
                }
                // keep the lowest point in `spare`, whole: if the search ends without the conditions, it is the answer
                if trial.value < spare.value {
                    std::mem::swap(trial, spare);
                    best = step;
                }
                next
            } else {
                bracket.retreat()
            };
            if next == Next::GiveUp {
                break;
            }
        }
        std::mem::swap(trial, spare);
        Ok(if trial.value < now.value { (Found::Lower, best) } else { (Found::Nothing, 0.0) })
    }
}

/// Whether a move can hardly be told from none: no parameter changes by more than its last few bits.
fn is_too_short(theta: &[f64], step: f64, d: &[f64]) -> bool {
    theta.iter().zip(d).all(|(t, d)| (step * d).abs() <= 32.0 * f64::EPSILON * t.abs())
}

/// What to do after a trial.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Try,
    Accept,
    GiveUp,
}

/// phi and phi' at a step.
#[derive(Clone, Copy)]
struct End {
    t: f64,
    phi: f64,
    slope: f64,
}

impl End {
    /// The same end of psi(t) = phi(t) - rate t, the function whose minimum is sought until a decrease is found.
    fn tilted(self, rate: f64) -> End {
        End { t: self.t, phi: self.phi - rate * self.t, slope: self.slope - rate }
    }
}

/// The interval of uncertainty: `x` its best end, `y` the other one, `step` the trial under way.
struct Bracket {
    c2: f64,
    start: End,
    /// c1 phi'(0).
    rate: f64,
    x: End,
    y: End,
    step: f64,
    closed: bool,
    /// Until a trial decreases phi enough and slopes upwards, the search is for the minimum of psi.
    tilting: bool,
    low: f64,
    high: f64,
    wall: f64,
    width: f64,
    previous_width: f64,
}

impl Bracket {
    fn new(phi: f64, slope: f64, step: f64, constants: &LineSearch) -> Self {
        let start = End { t: 0.0, phi, slope };
        Bracket {
            c2: constants.c2,
            start,
            rate: constants.c1 * slope,
            x: start,
            y: start,
            step,
            closed: false,
            tilting: true,
            low: 0.0,
            high: step + REACH * step,
            wall: LONGEST,
            width: LONGEST,
            previous_width: 2.0 * LONGEST,
        }
    }

    /// Takes in a finite trial at `self.step` and chooses the next step.
    fn narrow(&mut self, phi: f64, slope: f64) -> Next {
        let t = End { t: self.step, phi, slope };
        let enough = phi <= self.start.phi + self.rate * t.t;
        if enough && slope.abs() <= -self.c2 * self.start.slope {
            return Next::Accept;
        }
        if self.closed && (self.high - self.low <= WIDTH * self.high || t.t <= self.low || t.t >= self.high) {
            return Next::GiveUp;
        }
        // pressed against values that are not finite and still falling: nothing further along can be had
        let against_the_wall = self.wall - t.t <= WIDTH * self.wall;
        if !self.closed && against_the_wall && enough && slope <= self.rate {
            return Next::GiveUp;
        }
        // the decrease is safe from here on, so phi itself may be minimised
        if enough && slope >= 0.0 {
            self.tilting = false;
        }
        if self.tilting && phi <= self.x.phi && !enough {
            // lower than the best end but not by enough: phi would lure the bracket away from steps that satisfy the first
            // condition, psi does not
            let r = self.rate;
            let (mut x, mut y) = (self.x.tilted(r), self.y.tilted(r));
            self.refine(&mut x, &mut y, t.tilted(r));
            (self.x, self.y) = (x.tilted(-r), y.tilted(-r));
        } else {
            let (mut x, mut y) = (self.x, self.y);
            self.refine(&mut x, &mut y, t);
            (self.x, self.y) = (x, y);
        }
        self.bound();
        if self.step.is_finite() { Next::Try } else { Next::GiveUp }
    }

    /// Takes in a trial that was not finite: the next one is nearer to the best step, and the wall is remembered.
    fn retreat(&mut self) -> Next {
        if !self.closed {
            self.wall = self.step;
        }
        let next = self.x.t + RETREAT * (self.step - self.x.t);
        if next == self.x.t || next == self.step {
            return Next::GiveUp;
        }
        self.step = next;
        Next::Try
    }

    /// Keeps the next step inside the bracket, or inside the reach of an extrapolation, and shrinks slow brackets.
    fn bound(&mut self) {
        if self.closed {
            let width = (self.y.t - self.x.t).abs();
            // interpolation that shrinks the bracket by less than a third in two steps is given up for bisection, once
            if width >= 0.66 * self.previous_width {
                self.step = self.x.t + 0.5 * (self.y.t - self.x.t);
            }
            self.previous_width = self.width;
            self.width = width;
            self.low = self.x.t.min(self.y.t);
            self.high = self.x.t.max(self.y.t);
        } else {
            // still open: the next trial may go between 1.1 and REACH times this advance further
            let advance = self.step - self.x.t;
            self.low = self.step + 1.1 * advance;
            self.high = self.step + REACH * advance;
            self.step = self.step.clamp(0.0, LONGEST);
            if self.step >= self.wall {
                self.step = self.x.t + 0.5 * (self.wall - self.x.t);
            }
        }
    }

    /// One safeguarded interpolation (More and Thuente, section 4): moves the ends and sets `self.step`.
    fn refine(&mut self, x: &mut End, y: &mut End, t: End) {
        let opposite = t.slope * x.slope.signum() < 0.0;
        let cubic = cubic_minimum(*x, t);
        let next = if t.phi > x.phi {
            // Higher: a minimum lies between. The cubic step if it is nearer to x, else halfway to the quadratic one.
            let quadratic = x.t + (x.slope / ((x.phi - t.phi) / (t.t - x.t) + x.slope)) / 2.0 * (t.t - x.t);
            self.closed = true;
            let cubic = cubic.unwrap_or(quadratic);
            if (cubic - x.t).abs() < (quadratic - x.t).abs() { cubic } else { cubic + (quadratic - cubic) / 2.0 }
        } else if opposite {
            // Lower, slopes opposite: a minimum lies between. Whichever step is the farther from t.
            let secant = secant_minimum(*x, t);
            self.closed = true;
            let cubic = cubic.unwrap_or(secant);
            if (cubic - t.t).abs() > (secant - t.t).abs() { cubic } else { secant }
        } else if t.slope.abs() <= x.slope.abs() {
            self.flatter(*x, *y, t, cubic)
        } else if self.closed {
            // Lower and steeper inside a bracket: the cubic through t and the far end.
            cubic_minimum(*y, t).unwrap_or(t.t + 0.5 * (y.t - t.t))
        } else if t.t > x.t {
            self.high
        } else {
            self.low
        };
        // the ends move so that x stays the lowest point and the slope at x points into the bracket
        if t.phi > x.phi {
            *y = t;
        } else {
            if opposite {
                *y = *x;
            }
            *x = t;
        }
        self.step = next;
    }

    /// Lower, same side, flatter: the cubic step only if the cubic turns up beyond t, else the secant step.
    fn flatter(&self, x: End, y: End, t: End, cubic: Option<f64>) -> f64 {
        let secant = secant_minimum(x, t);
        let beyond = cubic.filter(|c| (c - t.t) * (t.t - x.t) > 0.0);
        let cubic = beyond.unwrap_or(if t.t > x.t { self.high } else { self.low });
        if self.closed {
            let nearer = if (cubic - t.t).abs() < (secant - t.t).abs() { cubic } else { secant };
            // not too close to y, or the bracket would shrink from one side only
            let limit = t.t + 0.66 * (y.t - t.t);
            if t.t > x.t { nearer.min(limit) } else { nearer.max(limit) }
        } else {
            let farther = if (cubic - t.t).abs() > (secant - t.t).abs() { cubic } else { secant };
            farther.max(self.low).min(self.high)
        }
    }
}

/// The minimum of the cubic with the values and slopes of both ends, if it has one.
fn cubic_minimum(a: End, b: End) -> Option<f64> {
    let theta = 3.0 * (a.phi - b.phi) / (b.t - a.t) + a.slope + b.slope;
    let s = theta.abs().max(a.slope.abs()).max(b.slope.abs());
    let square = math::powi(theta / s, 2) - (a.slope / s) * (b.slope / s);
    if square.is_nan() || square < 0.0 {
        return None;
    }
    let gamma = s * square.sqrt().copysign(a.t - b.t);
    // Written from b, the latest trial, so that the step keeps its digits when the interval is short.
    let p = (gamma - b.slope) + theta;
    let q = ((gamma - b.slope) + gamma) + a.slope;
    let t = b.t + p / q * (a.t - b.t);
    t.is_finite().then_some(t)
}

/// The zero of the straight line through both slopes.
fn secant_minimum(a: End, b: End) -> f64 {
    b.t + b.slope / (b.slope - a.slope) * (a.t - b.t)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(phi: impl Fn(f64) -> (f64, f64), first: f64, c1: f64, c2: f64) -> (f64, usize) {
        let (phi0, slope0) = phi(0.0);
        let mut bracket = Bracket::new(phi0, slope0, first, &LineSearch { c1, c2 });
        for trials in 1..=TRIALS {
            let (value, slope) = phi(bracket.step);
            let next = if value.is_finite() { bracket.narrow(value, slope) } else { bracket.retreat() };
            match next {
                Next::Accept => return (bracket.step, trials),
                Next::Try => {}
                Next::GiveUp => panic!("gave up at {}", bracket.step),
            }
        }
        panic!("no step within {TRIALS} trials");
    }

    /// Table I of the paper: the first trial, the number of trials, the step.
    #[test]
    fn steps_of_the_first_table_of_more_and_thuente() {
        let phi = |t: f64| (-t / (t * t + 2.0), (t * t - 2.0) / (t * t + 2.0).powi(2));
        for (first, trials, step) in [(1e-3, 6, 1.4), (1e-1, 3, 1.4), (1e1, 1, 10.0), (1e3, 4, 37.0)] {
            let (t, n) = search(phi, first, 1e-3, 0.1);
            assert!((t / step - 1.0).abs() < 0.03 && n == trials, "from {first}: step {t} in {n} trials");
        }
    }

    #[test]
    fn a_quadratic_takes_two_trials() {
        let (t, trials) = search(|t| ((t - 3.0).powi(2), 2.0 * (t - 3.0)), 1.0, 1e-4, 1e-6);
        assert!((t - 3.0).abs() < 1e-9 && trials == 2, "step {t} in {trials} trials");
    }

    #[test]
    fn a_wall_is_not_touched_twice_at_the_same_place() {
        let phi = |t: f64| if t < 1.0 { (-t - (1.0 - t).ln() * 0.1, -1.0 + 0.1 / (1.0 - t)) } else { (f64::NAN, 0.0) };
        let (t, trials) = search(phi, 4.0, 1e-4, 0.1);
        assert!((t - 0.9).abs() < 0.02 && trials <= 10, "step {t} in {trials} trials");
    }
}
