//! The decision: what the figures must show, and what else is asked of them where they rest on little.

use super::certificate::Verdict;
use super::interval::Interval;
use super::terms::{Mode, Terms};
use crate::math;

/// Rows that a standard error must rest on before it is taken at its word.
pub(super) const FEW: f64 = 12.0;

/// Tail index of the weights below which their variance is a guess.
const HEAVY: f64 = 2.5;

/// Where evidence is thin, a gain must exceed so many half widths of its interval, unless the guarantee speaks for it. Found by simulation,
/// on worlds of rare outcomes: with the error without a gain as a floor, more costs true gains and saves no false ones.
pub(super) const THIN: f64 = 1.25;

/// More missing mass than this cannot be bounded by the outcomes that happened to be seen: a range must be stated.
const UNSEEN: f64 = 0.02;

/// The figures a decision rests on; costs inside.
pub(super) struct Case {
    pub(super) value: Interval,
    pub(super) logged: Interval,
    pub(super) difference: Interval,
    pub(super) p_value: f64,
    /// What the error of the difference would be without a gain, by the rows of both parts.
    pub(super) null_error: f64,
    /// What it would be if weights and costs had nothing to do with each other.
    pub(super) unrelated: f64,
    /// Rows that the error of the difference rests on.
    pub(super) informative: f64,
    pub(super) tail_index: Option<f64>,
    /// The policy is the log's own.
    pub(super) own: bool,
    /// Share of the policy's mass that the log does not show.
    pub(super) missing: f64,
    /// Share of it in contexts where the policy does what the log never did, where that counts; else 0.
    pub(super) away: f64,
    /// The smallest and the largest cost of the valid and the test rows.
    pub(super) seen: [f64; 2],
    /// There are two costs, and both were seen often: yes or no, of which the range is known.
    pub(super) two_valued: bool,
    /// Every cost of the test rows is the same.
    pub(super) constant: bool,
    pub(super) effective: f64,
    pub(super) rows: f64,
    /// The policy costs at most this much more than the log, whatever the number of rows.
    pub(super) guarantee: Option<f64>,
    /// Rows of both parts that the variance of the costs rests on.
    pub(super) varied: f64,
}

/// Something that a reader must know; words come later, in the user's direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Remark {
    /// Every weight is the same.
    OwnPolicy,
    /// Every outcome is the same.
    SameOutcomes,
    /// The interval lies on the right side, but the error that the difference would have without a gain says that it may be chance.
    NullError,
    /// Few rows carry the error, or the weights have a heavy tail: the gain is not large enough for that, and nothing is guaranteed.
    Thin { informative: f64, tail_index: Option<f64> },
    /// The same, but the gain is large enough or guaranteed.
    ThinButEnough,
    /// Few rows make the outcomes vary: the worst that was seen may happen to rows that weigh more, and the interval was widened by that.
    RareHarm { varied: f64, by: f64 },
    /// Mass is missing, and the interval was widened by what may happen there.
    Widened { missing: f64, assumed: bool },
    /// So much mass is missing that a range of outcomes must be stated.
    Unseen { missing: f64, away: f64 },
}

pub(super) struct Decided {
    pub(super) verdict: Verdict,
    pub(super) case: Case,
    pub(super) remarks: Vec<Remark>,
}

/// Decides, as if the gates had passed.
pub(super) fn decide(mut case: Case, terms: &Terms) -> Decided {
    let mut remarks = Vec::new();
    if terms.mode == Mode::Paper {
        let passes = case.value.upper < case.logged.estimate && !case.own;
        return Decided { verdict: verdict(passes), case, remarks };
    }
    let difference = case.difference;
    if case.constant {
        case.of_equal_outcomes(terms);
        remarks.push(Remark::SameOutcomes);
    } else if case.own {
        let d = case.difference.estimate;
        case.difference = Interval { lower: d.min(0.0), upper: d.max(0.0), ..case.difference };
        remarks.push(Remark::OwnPolicy);
    }
    if case.own || case.constant {
        case.p_value = 1.0;
        return Decided { verdict: Verdict::Keep, case, remarks };
    }
    let excludes = difference.upper < 0.0;
    let chance = case.p_value > terms.tail() * (1.0 + 1e-12);
    if excludes && chance {
        remarks.push(Remark::NullError);
    }
    let mut passes = excludes && !chance;
    if passes {
        let thin = case.is_thin();
        let enough = case.strength() >= THIN || case.guarantee.is_some_and(|g| g < 0.0);
        match (thin, enough) {
            (true, false) => {
                passes = false;
                remarks.push(Remark::Thin { informative: case.informative, tail_index: case.tail_index });
            }
            (true, true) => remarks.push(Remark::ThinButEnough),
            _ => {}
        }
    }
    let harm = case.rare_harm(terms);
    if harm > 0.0 {
        let before = case.difference.upper;
        (case.value, case.difference) = (case.value.widened(0.0, harm), case.difference.widened(0.0, harm));
        if before < 0.0 && case.difference.upper >= 0.0 {
            remarks.push(Remark::RareHarm { varied: case.varied, by: harm });
        }
        passes &= case.difference.upper < 0.0;
    }
    if case.missing > 0.0 {
        let assumed = terms.cost_range.is_none();
        case.widen(case.range(terms));
        remarks.push(Remark::Widened { missing: case.missing, assumed });
        if passes && assumed && !case.two_valued && case.is_unseen() {
            remarks.push(Remark::Unseen { missing: case.missing, away: case.away });
            passes = false;
        }
        passes &= case.difference.upper < 0.0;
    }
    Decided { verdict: verdict(passes), case, remarks }
}

fn verdict(passes: bool) -> Verdict {
    if passes { Verdict::Deploy } else { Verdict::Keep }
}

impl Case {
    /// Whether the standard error rests on so little that an interval made of it may be wrong altogether.
    pub(super) fn is_thin(&self) -> bool {
        self.informative.is_nan() || self.informative < FEW || self.tail_index.is_some_and(|t| t < HEAVY)
    }

    /// Whether so much is missing, or in such a way, that outcomes that happened to be seen say nothing of it.
    pub(super) fn is_unseen(&self) -> bool {
        self.missing > UNSEEN || self.away > 0.0
    }

    /// The range of costs, stated or seen.
    pub(super) fn range(&self, terms: &Terms) -> [f64; 2] {
        terms.cost_range.unwrap_or(self.seen)
    }

    /// What the worst outcome that was seen, or that the stated range has, may add to the mean without having shown. Where the variance of all costs rests
    /// on few rows, losses are rare, and may be larger or commoner where the policy acts: none on n_eff rows is no more than a share of
    /// -ln(delta / 2) / n_eff of them ("rule of three"). Elsewhere rows speak of outcomes like those that were seen; who states that worse ones can happen says
    /// what no row can, and the same share of rows may lie between the worst of them and the worst that was seen.
    pub(super) fn rare_harm(&self, terms: &Terms) -> f64 {
        if terms.cost_range.is_some() && self.guarantee.is_some_and(|g| g < 0.0) {
            return 0.0; // the guarantee knows the range
        }
        let worst = self.range(terms)[1].max(self.seen[1]);
        let beyond = worst - if self.varied < FEW { self.value.estimate } else { self.seen[1] };
        (-math::ln(terms.tail()) / self.effective).min(1.0) * beyond.max(0.0)
    }

    /// The gain in half widths of its interval, the error being at least that of weights and costs without a relation. (Rows of the valid part that
    /// make a larger one count in the p-value, and are not held against a gain twice.)
    fn strength(&self) -> f64 {
        let d = self.difference;
        let half = (d.upper - d.estimate) * (self.unrelated / d.std_error).max(1.0);
        -d.estimate / half
    }

    /// Mass of which nothing is known may have the best or the worst outcome.
    fn widen(&mut self, [lo, hi]: [f64; 2]) {
        let (worse, better) = ((hi - self.value.estimate).max(0.0), (self.value.estimate - lo).max(0.0));
        let (above, below) = (self.missing * worse, self.missing * better);
        self.value = self.value.widened(below, above);
        self.difference = self.difference.widened(below, above);
    }

    /// Intervals where all outcomes are equal: another one happens to less than a share q of the rows, 1 - q = (delta / 2)^(1 / n).
    fn of_equal_outcomes(&mut self, terms: &Terms) {
        let [lo, hi] = self.range(terms);
        let around = |i: Interval, n: f64, by: f64| {
            let q = 1.0 - math::pow(terms.tail(), 1.0 / n.max(1.0));
            Interval { lower: i.estimate - (by - lo) * q, upper: i.estimate + (hi - by) * q, ..i }
        };
        let c = self.logged.estimate;
        self.value = around(self.value, self.effective, c);
        self.logged = around(self.logged, self.rows, c);
        self.difference = around(self.difference, self.effective, c);
    }
}
