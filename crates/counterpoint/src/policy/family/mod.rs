//! Families: the shape of the policy around its mean.
//!
//! Every family is told its MEAN and its STANDARD DEVIATION on the action's own scale. Vector actions have independent
//! components with one std each: their log densities add up.
//!
//! A member is one file that implements [`Member`]: facts (where actions can be, whether the entropy depends on the row)
//! and functions of one row (log density, entropy, distribution function), each with its slopes in mean and std. Everything
//! else, and everybody else, asks [`Family`]; nobody compares members. The kernel runs the functions of one row on whole
//! strips ([`Member::strip`]); a member may bring vector code of its own, which a test holds to the functions of one row.
//!
//! To add a member: write its file, and a line in the list below. `docs/extending.md` shows one.

mod gamma;
mod log_normal;
mod normal;

use super::mean::Link;
use crate::features::Slopes;
use crate::math;
use crate::math::erfc;
use crate::rng::StandardNormal;
use crate::vector::{Elementary, Lane, Real, STRIP};
use fearless_simd::Simd;
use rand::Rng;
use rand::distr::Distribution;
use serde::{Deserialize, Serialize};

/// ln(2 pi) / 2
pub const HALF_LN_2PI: f64 = 0.918_938_533_204_672_8;

/// The list: the enum, its names, and the way from a member's name to its file.
macro_rules! families {
    ($( $(#[$about:meta])+ $name:ident = $file:ident, $text:literal, $title:literal; )+) => {
        /// The distribution of one component of an action around its mean.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        #[non_exhaustive]
        pub enum Family { $( $(#[$about])+ $name, )+ }

        impl Family {
            /// Every family there is: what tables of tests run over.
            pub const ALL: &'static [Family] = &[$( Family::$name, )+];

            /// The name in recipes and policy files.
            pub fn name(self) -> &'static str {
                match self { $( Family::$name => $text, )+ }
            }

            /// The name in sentences: "the log-normal family".
            pub fn title(self) -> &'static str {
                match self { $( Family::$name => $title, )+ }
            }

            /// Hands the member behind the name to a visitor: the one place that knows all of them.
            #[inline(always)]
            pub(crate) fn visit<V: Visit>(self, visitor: V) -> V::Out {
                match self { $( Family::$name => visitor.see($file::$name), )+ }
            }
        }
    };
}

families! {
    /// N(mean, std^2)
    #[default]
    Normal = normal, "normal", "normal";
    /// The log-normal with that mean and std; actions and means are positive.
    LogNormal = log_normal, "lognormal", "log-normal";
    /// The gamma law with that mean and std; actions and means are positive.
    Gamma = gamma, "gamma", "gamma";
}

/// Where the actions of a family can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Any number.
    Real,
    /// Above zero; so are the means.
    Positive,
}

impl Support {
    /// Whether an action or a mean can be there.
    pub fn holds(self, a: f64) -> bool {
        match self {
            Support::Real => a.is_finite(),
            Support::Positive => a > 0.0 && a.is_finite(),
        }
    }

    /// What a number must be to lie in it, as an adjective.
    pub fn adjective(self) -> &'static str {
        match self {
            Support::Real => "finite",
            Support::Positive => "positive",
        }
    }

    /// The link that keeps the mean of a linear score inside.
    pub fn link(self) -> Link {
        match self {
            Support::Real => Link::Identity,
            Support::Positive => Link::Softplus,
        }
    }
}

/// An action as a family sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seen {
    /// The action in the family's own coordinate.
    pub(crate) action: f64,
    /// What the log density loses whatever the mean and the std: constants, and the logarithm of the change of coordinate.
    pub(crate) constant: f64,
}

/// What a family is asked. A member is a type without data.
pub(crate) trait Member: Copy + Sync {
    /// Where its actions can be.
    fn support(self) -> Support;

    /// Whether the entropy depends on the mean, and with it on the row.
    fn entropy_varies(self) -> bool;

    /// Whether the seen action is normal: then `seen` makes normal actions of this family's, which regressions like.
    fn normalises(self) -> bool {
        false
    }

    /// What can be computed once for an action inside the support.
    fn seen(self, a: f64) -> Seen;

    /// ln pi of a seen action but for its constant, with slopes.
    fn log_density(self, seen: f64, mean: f64, std: f64) -> Slopes;

    /// The same from the action itself, with the constant. For members that lose digits by seeing first.
    fn full_log_density(self, a: f64, mean: f64, std: f64) -> Slopes {
        let seen = self.seen(a);
        let p = self.log_density(seen.action, mean, std);
        Slopes { value: p.value - seen.constant, ..p }
    }

    /// The differential entropy, with slopes.
    fn entropy(self, mean: f64, std: f64) -> Slopes;

    /// P(action <= a) inside the support, with slopes.
    fn cdf(self, a: f64, mean: f64, std: f64) -> Slopes;

    /// The action at standard-normal position z, with slopes: cdf(at(z)) = Phi(z).
    fn at(self, z: f64, mean: f64, std: f64) -> Slopes;

    /// d ln pi(a) / d a.
    fn log_density_slope(self, a: f64, mean: f64, std: f64) -> f64;

    /// Calls `each` with z and [`at`](Self::at) for z = -steps h, .., steps h, in any order: the nodes of the trapezoid rule
    /// along the policy.
    fn along(self, h: f64, steps: i32, (mean, std): (f64, f64), each: &mut dyn FnMut(f64, Slopes)) {
        for i in -steps..=steps {
            let z = f64::from(i) * h;
            each(z, self.at(z, mean, std));
        }
    }

    /// E exp(-alpha/2 (a - z)^2), with slopes.
    fn kernel(self, mean: f64, std: f64, z: f64, alpha: f64) -> Slopes {
        kernel_along(self, mean, std, z, alpha)
    }

    /// Whether [`kernel`](Self::kernel) is the normal law's closed form, which the kernel of the row stage knows too.
    fn has_normal_kernel(self) -> bool {
        false
    }

    /// The row stage on a strip. Vector code that a member brings must agree with [`lifted`], and a test says so.
    #[inline(always)]
    fn strip<T: Elementary, S: Simd>(self, simd: S, column: &mut Column<T>) {
        let _ = simd;
        lifted(self, column);
    }
}

/// What is to be done with a member, once it is known which.
pub(crate) trait Visit {
    type Out;
    fn see<M: Member>(self, member: M) -> Self::Out;
}

/// One action column of a strip, on its way through the row stage.
pub(crate) struct Column<'a, T> {
    /// Seen actions.
    pub(crate) a: &'a Lane<T>,
    /// Means.
    pub(crate) mu: &'a Lane<T>,
    /// The std, with what loops want of it.
    pub(crate) std: Spread<T>,
    /// ln pi is added here.
    pub(crate) log_w: &'a mut Lane<T>,
    /// Slopes of ln pi in mean and std.
    pub(crate) slopes: [&'a mut Lane<T>; 2],
    /// The entropy is added here, and its slopes are written; untouched where the entropy does not vary.
    pub(crate) h: &'a mut Lane<T>,
    /// Slopes of the entropy in mean and std.
    pub(crate) h_slopes: [&'a mut Lane<T>; 2],
}

/// A std in the forms that loops multiply with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread<T> {
    pub(crate) inverse: T,
    pub(crate) log: T,
    pub(crate) value: T,
}

impl<T: Real> Spread<T> {
    pub(crate) fn new(std: f64) -> Self {
        Spread { inverse: T::of(1.0 / std), log: T::of(math::ln(std)), value: T::of(std) }
    }
}

/// The functions of one row on all rows of a strip, in double precision.
#[inline(always)]
pub(crate) fn lifted<M: Member, T: Real>(member: M, column: &mut Column<T>) {
    let std = column.std.value.f64();
    for i in 0..STRIP {
        let (a, mu) = (column.a.0[i].f64(), column.mu.0[i].f64());
        let p = member.log_density(a, mu, std);
        column.log_w.0[i] = T::of(column.log_w.0[i].f64() + p.value);
        column.slopes[0].0[i] = T::of(p.mean);
        column.slopes[1].0[i] = T::of(p.std);
    }
    if member.entropy_varies() {
        for i in 0..STRIP {
            let h = member.entropy(column.mu.0[i].f64(), std);
            column.h.0[i] = T::of(column.h.0[i].f64() + h.value);
            column.h_slopes[0].0[i] = T::of(h.mean);
            column.h_slopes[1].0[i] = T::of(h.std);
        }
    }
}

/// What `work` does to a column, done in double precision: for vector code whose differences would have few digits left in single precision.
#[inline(always)]
pub(crate) fn widened<T: Real>(column: &mut Column<T>, work: impl FnOnce(&mut Column<f64>)) {
    #[inline(always)]
    fn wide<T: Real>(lane: &Lane<T>) -> Lane<f64> {
        Lane(std::array::from_fn(|i| lane.0[i].f64()))
    }
    #[inline(always)]
    fn narrow<T: Real>(from: &Lane<f64>, to: &mut Lane<T>) {
        to.0.iter_mut().zip(&from.0).for_each(|(to, v)| *to = T::of(*v));
    }
    let (a, mu) = (wide(column.a), wide(column.mu));
    let (mut log_w, mut h) = (wide(column.log_w), wide(column.h));
    let [mut mean, mut std, mut h_mean, mut h_std] = [Lane::ZERO; 4];
    work(&mut Column {
        a: &a,
        mu: &mu,
        std: Spread::new(column.std.value.f64()),
        log_w: &mut log_w,
        slopes: [&mut mean, &mut std],
        h: &mut h,
        h_slopes: [&mut h_mean, &mut h_std],
    });
    narrow(&log_w, column.log_w);
    narrow(&h, column.h);
    column.slopes.iter_mut().zip([&mean, &std]).for_each(|(to, from)| narrow(from, to));
    column.h_slopes.iter_mut().zip([&h_mean, &h_std]).for_each(|(to, from)| narrow(from, to));
}

/// [`Member::kernel`] by the trapezoid rule along the policy.
///
/// For integrands this smooth the rule's error falls like exp(-c / h), so each halving of the step squares it: when a
/// halving changes the sum by less than 1e-8, the new sum is right to rounding.
pub(crate) fn kernel_along<M: Member>(member: M, mean: f64, std: f64, z: f64, alpha: f64) -> Slopes {
    /// Where the mass of the policy ends: the normal density is below 1e-16 beyond.
    const REACH: i32 = 9;
    let mut last = Slopes { value: f64::INFINITY, ..Slopes::default() };
    for steps in [4, 8, 16, 32, 64, 128, 256] {
        let h = 1.0 / f64::from(steps);
        let mut out = Slopes::default();
        member.along(h, REACH * steps, (mean, std), &mut |t, a| {
            let d = a.value - z;
            let v = h * math::exp(-0.5 * (t * t + alpha * d * d) - HALF_LN_2PI);
            if v > 0.0 {
                out.value += v;
                out.mean -= v * alpha * d * a.mean;
                out.std -= v * alpha * d * a.std;
            }
        });
        let still = |a: f64, b: f64| (a - b).abs() <= 1e-8 * (1.0 + a.abs());
        if still(out.value, last.value) && still(out.mean, last.mean) && still(out.std, last.std) {
            return out;
        }
        last = out;
    }
    last
}

/// P(Z <= z) of the standard normal law.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    0.5 * erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

/// Its density.
pub(crate) fn bell(z: f64) -> f64 {
    math::exp(-0.5 * z * z - HALF_LN_2PI)
}

/// ln(a / b), accurate when the two are close.
fn ln_ratio(a: f64, b: f64) -> f64 {
    let d = (a - b) / b;
    if d.abs() < 0.5 { math::ln_1p(d) } else { math::ln(a / b) }
}

/// A visitor for one expression of a member.
macro_rules! ask {
    ($family:expr, |$member:ident $(, $given:ident: $ty:ty)*| -> $out:ty { $body:expr }) => {{
        struct Ask { $($given: $ty),* }
        impl Visit for Ask {
            type Out = $out;
            #[inline(always)]
            fn see<M: Member>(self, $member: M) -> $out {
                let Ask { $($given),* } = self;
                $body
            }
        }
        $family.visit(Ask { $($given),* })
    }};
}

impl Family {
    /// Whether the expectation of a Gaussian kernel is the normal law's.
    pub(crate) fn has_normal_kernel(self) -> bool {
        ask!(self, |m| -> bool { m.has_normal_kernel() })
    }

    /// Where its actions can be.
    pub fn support(self) -> Support {
        ask!(self, |m| -> Support { m.support() })
    }

    /// Whether the entropy depends on the mean, and with it on the row.
    pub fn entropy_varies(self) -> bool {
        ask!(self, |m| -> bool { m.entropy_varies() })
    }

    /// What can be computed once for an action; `None` outside the support.
    pub(crate) fn seen(self, a: f64) -> Option<Seen> {
        if !self.support().holds(a) {
            return None;
        }
        Some(ask!(self, |m, a: f64| -> Seen { m.seen(a) }))
    }

    /// ln pi of a seen action but for its constant, with slopes.
    pub(crate) fn seen_log_density(self, seen: f64, mean: f64, std: f64) -> Slopes {
        ask!(self, |m, seen: f64, mean: f64, std: f64| -> Slopes { m.log_density(seen, mean, std) })
    }

    /// For families that are a transform of the normal one: t(a), which is normal, and ln dt/da. Else `None`.
    pub fn to_normal(self, a: f64) -> Option<(f64, f64)> {
        let normal = ask!(self, |m| -> bool { m.normalises() });
        self.seen(a).filter(|_| normal).map(|s| (s.action, HALF_LN_2PI - s.constant))
    }

    /// ln pi(a), with slopes in mean and std. Outside the support it is -infinity, without slopes.
    ///
    /// ```
    /// use counterpoint::policy::Family;
    /// let p = Family::Normal.log_density(1.0, 1.0, 2.0);
    /// assert!((p.value + (2.0 * (2.0 * std::f64::consts::PI).sqrt()).ln()).abs() < 1e-15);
    /// assert_eq!((p.mean, p.std), (0.0, -0.5));
    /// assert_eq!(Family::LogNormal.log_density(-1.0, 1.0, 2.0).value, f64::NEG_INFINITY);
    /// ```
    pub fn log_density(self, a: f64, mean: f64, std: f64) -> Slopes {
        if !self.support().holds(a) {
            return Slopes { value: f64::NEG_INFINITY, ..Slopes::default() };
        }
        ask!(self, |m, a: f64, mean: f64, std: f64| -> Slopes { m.full_log_density(a, mean, std) })
    }

    /// d ln pi(a) / d a, inside the support.
    pub fn log_density_slope(self, a: f64, mean: f64, std: f64) -> f64 {
        ask!(self, |m, a: f64, mean: f64, std: f64| -> f64 { m.log_density_slope(a, mean, std) })
    }

    /// The differential entropy, with slopes.
    pub fn entropy(self, mean: f64, std: f64) -> Slopes {
        ask!(self, |m, mean: f64, std: f64| -> Slopes { m.entropy(mean, std) })
    }

    /// P(action <= a), with slopes in mean and std.
    pub fn cdf(self, a: f64, mean: f64, std: f64) -> Slopes {
        if a == f64::INFINITY {
            return Slopes { value: 1.0, ..Slopes::default() };
        }
        if !self.support().holds(a) {
            return Slopes::default();
        }
        ask!(self, |m, a: f64, mean: f64, std: f64| -> Slopes { m.cdf(a, mean, std) })
    }

    /// The action at standard-normal position `z`, with slopes: mean + std z for the normal family.
    pub fn at(self, z: f64, mean: f64, std: f64) -> Slopes {
        ask!(self, |m, z: f64, mean: f64, std: f64| -> Slopes { m.at(z, mean, std) })
    }

    /// Calls `each` with z and the action there, for z = -steps h, .., steps h, in any order.
    pub(crate) fn along(self, h: f64, steps: i32, law: (f64, f64), each: &mut dyn FnMut(f64, Slopes)) {
        struct Along<'a>(f64, i32, (f64, f64), &'a mut dyn FnMut(f64, Slopes));
        impl Visit for Along<'_> {
            type Out = ();
            fn see<M: Member>(self, member: M) {
                member.along(self.0, self.1, self.2, self.3);
            }
        }
        self.visit(Along(h, steps, law, each));
    }

    /// E exp(-alpha/2 (a - z)^2), the expectation of a Gaussian kernel around z, with slopes.
    pub fn kernel(self, mean: f64, std: f64, z: f64, alpha: f64) -> Slopes {
        ask!(self, |m, mean: f64, std: f64, z: f64, alpha: f64| -> Slopes { m.kernel(mean, std, z, alpha) })
    }

    /// What is wrong with an action, mean or anchor outside the support, for an error message.
    pub(crate) fn complaint(self) -> String {
        format!("is not {}, as the {} family needs", self.support().adjective(), self.title())
    }

    /// Draws one action.
    pub fn sample<R: Rng + ?Sized>(self, mean: f64, std: f64, rng: &mut R) -> f64 {
        self.at(StandardNormal.sample(rng), mean, std).value
    }
}

#[cfg(test)]
mod tests;
