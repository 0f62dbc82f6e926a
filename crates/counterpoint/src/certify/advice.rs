//! What would help a policy that was kept or refused: rows, how many of them, or something else.
//!
//! A standard error falls with the root of the rows. With a gain d, an error e on n rows and the normal quantiles z of the level and of a
//! power of .8,
//!
//! ```text
//! N = n ((z_level + z_.8) e / d)^2
//! ```
//!
//! rows find it four times in five, if it is there (`counterpoint-lab validity advice` follows the advice and counts).

use super::certificate::Verdict;
use super::decide::{Case, THIN};
use super::interval::normal_quantile;
use super::terms::{Mode, Terms};
use crate::math;
use crate::policy::GateFigures;

/// The standard normal is below this four times in five.
const POWER: f64 = 0.841_621_233_572_914;

/// More rows than this many times those at hand are no advice.
const HOPELESS: f64 = 10_000.0;

/// Advice in words, with the number of rows where rows would help.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Advice {
    pub(super) rows: Option<f64>,
    pub(super) words: Option<String>,
}

fn say(words: &str) -> Advice {
    Advice { rows: None, words: Some(words.into()) }
}

/// What would help; nothing for a policy that passes, nor under the paper's rule, which has other figures.
/// `doubted`: the densities themselves are refused.
pub(super) fn advise(verdict: Verdict, case: &Case, figures: &GateFigures, doubted: bool, terms: &Terms) -> Advice {
    match (verdict, terms.mode) {
        (Verdict::Invalid, Mode::Default) if doubted => say(
            "more rows would not help: find out which policy acted when these rows were logged, and log its densities; a log without them \
             can have them estimated",
        ),
        (Verdict::Invalid, Mode::Default) => of_refused(figures, terms),
        (Verdict::Keep, Mode::Default) => of_kept(case, terms),
        _ => Advice::default(),
    }
}

/// Effective rows grow with the rows, a mean weight that is off does not heal.
fn of_refused(s: &GateFigures, terms: &Terms) -> Advice {
    let gate = &terms.gate;
    let closer = "a policy closer to the log would have them: a larger `std`, or a bound on its changes (`max_change`). If several policies acted in turn, \
                  each row's density under all of them together (their mixture) makes weights far more even";
    if s.effective < gate.needs(s.rows) {
        let share = s.effective / s.rows;
        if share.is_nan() || share <= 1.1 * gate.min_effective_share {
            return say(&format!("more rows would not help, {closer}"));
        }
        let more = 1.2 * gate.min_effective_rows / share - s.rows;
        if more > 0.0 {
            let rows = rounded(more);
            let words = format!("about {rows} more {} like these would do; {closer}", s.whose());
            return Advice { rows: Some(rows), words: Some(words) };
        }
    }
    if s.mean_weight < 1.0 {
        say(
            "more rows would not help: a policy that stays where the log has been would (a bound on its changes, `max_change`)",
        )
    } else {
        say(
            "more rows would not help: see whether the propensities are densities of the logged actions at their own scale",
        )
    }
}

fn of_kept(case: &Case, terms: &Terms) -> Advice {
    if case.own {
        return say("a policy that differs from the log could be judged");
    }
    let d = case.difference;
    if case.constant || d.estimate >= 0.0 {
        return say(
            "on these rows the policy is no better than the log: more of them would hardly change that, another policy might",
        );
    }
    // what may happen to missing mass does not shrink with rows
    let unknown =
        if case.missing > 0.0 { case.missing * (case.range(terms)[1] - case.value.estimate).max(0.0) } else { 0.0 };
    let gain = -d.estimate - unknown;
    if gain <= 0.0 || (case.missing > 0.0 && terms.cost_range.is_none() && !case.two_valued && case.is_unseen()) {
        return say(
            "more rows would not help: a policy that stays where the log has been would, or a narrower range of outcomes",
        );
    }
    let times = if case.is_thin() { THIN } else { 1.0 };
    let error = d.std_error.max(case.null_error) * times;
    // what rare harm may add falls with the rows themselves
    let rare = case.rows * case.rare_harm(terms) / gain;
    let needed = case.rows * math::powi((normal_quantile(terms) + POWER) * error / gain, 2) + rare;
    if needed.is_nan() || needed > HOPELESS * case.rows {
        return say("the gain, if there is any, is too small to be shown: another policy might gain more");
    }
    // rows that should have been enough: half as many again
    let rows = rounded((needed - case.rows).max(0.5 * case.rows));
    let words = format!(
        "about {rows} more test rows like these would decide it four times in five, if the gain is what it seems to be"
    );
    Advice { rows: Some(rows), words: Some(words) }
}

/// Two digits are all that such a number has.
fn rounded(rows: f64) -> f64 {
    let unit = math::pow(10f64, math::log10(rows).floor() - 1.0).max(1.0);
    (rows / unit).ceil() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_rows_have_two_digits() {
        assert_eq!([7.2, 61.0, 1234.0, 98_765.0].map(rounded), [8.0, 61.0, 1300.0, 99_000.0]);
    }

    #[test]
    fn what_helps_a_refused_policy_is_what_it_lacks() {
        let terms = Terms::default();
        let few = of_refused(&GateFigures::of(25.0, 500.0, 1.0), &terms);
        assert_eq!(few.rows, Some(700.0)); // 1,200 rows would have 60 effective ones
        let share = of_refused(&GateFigures::of(60.0, 10_000.0, 1.0), &terms);
        assert!(share.rows.is_none() && share.words.unwrap().contains("closer to the log"));
        let away = of_refused(&GateFigures::of(400.0, 1000.0, 0.7), &terms);
        assert!(away.rows.is_none() && away.words.unwrap().contains("stays where the log has been"));
    }
}
