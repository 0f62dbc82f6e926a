//! Which candidate: the best lower bound among those that the log supports and a test part can certify.

use super::ground::Rule;
use super::judge::Figures;
use crate::certify::Gate;
use crate::math;
use crate::policy::normal_cdf;

/// A rule with its noise, and what held-out rows say of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) rule: Rule,
    pub(super) share: f64,
    pub(super) step: f64,
    pub(super) figures: Figures,
    /// By how many standard errors of a test part every guardrail's harm lies below its margin, beyond what a certificate asks; infinite
    /// without guardrails.
    pub(super) slack: f64,
    /// What it gains on the stack, all the way and with the same noise, ..
    pub(super) lead: f64,
    /// .. the standard error of that, both being judged on the same rows, ..
    pub(super) lead_error: f64,
    /// .. and what the stack gains on the log with that noise, by the model.
    pub(super) stack_gain: f64,
}

/// Standard errors of the test part's difference that a certificate asks: 97.5% confidence, and a little for few rows ..
pub(super) const ASKED: f64 = 2.2;

/// .. and where its error rests on little, which asks for a quarter more than the half width.
const ASKED_IF_THIN: f64 = 1.25 * ASKED;

/// So many more, and five certificates of six are given.
const SPARE: f64 = 1.0;

/// Rows that the error must rest on, and the tail index of the weights, below which a certificate calls its evidence thin; with room,
/// since test rows are others.
const FEW: f64 = 18.0;
const HEAVY: f64 = 3.0;

/// Standard errors of its lead by which another rule must be better than the stack all the way: among many candidates one is always lucky, and
/// over many logs the stack is the better bet ..
const PREFERENCE: f64 = 2.0;

/// .. and by which a part of the way must be: the question is how far, and models promise too much where the log hardly acts. Three smaller steps are
/// tried, and with this the luckiest of three that are no better passes one time in six, as one alone does with one.
const STEP: f64 = 1.6;

/// Share of its worth that a rule gives up for more noise: noise leaves more effective rows for the certificate and for the next log, and where it
/// costs next to nothing a model cannot tell the difference either.
const INSURANCE: f64 = 0.0025;

/// Room above what the gate asks: the refitted rule and the test rows are others.
const MARGIN: f64 = 1.2;

/// Learning rows to test rows, of the usual parts 50/25/25.
pub(super) const TO_TEST: f64 = 1.0 / 3.0;

impl Candidate {
    /// Whether held-out rows pass the gate, with a margin: they are what a certificate's gate sees of a policy that was learned from
    /// train and valid.
    pub(super) fn passes(&self, gate: &Gate, n: f64, rows: f64) -> bool {
        let share = self.figures.effective / n;
        let far = (self.figures.mean_weight - 1.0).abs();
        share * rows >= MARGIN * gate.needs(rows * self.figures.draws)
            && far <= gate.tolerance(self.figures.mean_weight_error)
    }

    /// The gain in standard errors of the test part's paired difference.
    fn ratio(&self, n: f64, rows: f64) -> f64 {
        let error = self.figures.plain_error * (n / (rows * TO_TEST)).sqrt();
        -self.figures.difference / error.max(f64::MIN_POSITIVE)
    }

    /// Standard errors that a certificate will ask for.
    pub(super) fn asked(&self, n: f64, rows: f64) -> f64 {
        let thin = self.figures.informative * TO_TEST * rows / n < FEW || self.figures.tail < HEAVY;
        if thin { ASKED_IF_THIN } else { ASKED }
    }

    /// Whether a test part would tell the gain from none.
    pub(super) fn certifiable(&self, n: f64, rows: f64) -> bool {
        self.ratio(n, rows) >= self.asked(n, rows) + SPARE && self.guarded()
    }

    /// Whether a test part would show that no guardrail is harmed.
    pub(super) fn guarded(&self) -> bool {
        self.slack >= SPARE
    }

    /// What is gained on average, the log staying where the certificate is not given: the model's gain times the probability of a
    /// certificate.
    fn after_certificate(&self, n: f64, rows: f64) -> f64 {
        let shown = normal_cdf(self.ratio(n, rows) - self.asked(n, rows));
        let kept = if self.slack.is_finite() { normal_cdf(self.slack) } else { 1.0 };
        -self.figures.by_model * shown * kept
    }
}

/// How much of it a candidate has: can it be certified, or at least judged?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Certifiable,
    Supported,
    Unsupported,
}

/// What candidates are held against.
struct Bar<'a> {
    gate: &'a Gate,
    n: f64,
    rows: f64,
}

impl Bar<'_> {
    fn standing(&self, c: &Candidate) -> Standing {
        match (c.passes(self.gate, self.n, self.rows), c.certifiable(self.n, self.rows)) {
            (true, true) => Standing::Certifiable,
            (true, false) => Standing::Supported,
            (false, _) => Standing::Unsupported,
        }
    }

    /// What is larger is better, among candidates of one standing. The noise of one rule is compared by the model, whose
    /// differences between shares have little error of their own, and by what remains of it after the certificate; rules are compared
    /// by the rows, with the stack at the same noise.
    fn worth(&self, c: &Candidate, alike: bool) -> f64 {
        match self.standing(c) {
            Standing::Certifiable if alike => c.after_certificate(self.n, self.rows),
            Standing::Certifiable => {
                let asked = if c.step < 1.0 { STEP } else { PREFERENCE };
                c.stack_gain + c.lead - asked * c.lead_error
            }
            // what stands furthest from a certificate decides: the gain, or a guardrail
            Standing::Supported => c.ratio(self.n, self.rows).min(c.slack + ASKED),
            Standing::Unsupported => c.figures.effective,
        }
    }

    fn before(&self, a: &Candidate, b: &Candidate, alike: bool) -> std::cmp::Ordering {
        let by_worth = || self.worth(b, alike).total_cmp(&self.worth(a, alike));
        self.standing(a).cmp(&self.standing(b)).then_with(by_worth)
    }
}

/// The candidates in order, best first, and the choice in words. The best noise of every rule comes first, then the rest.
pub(super) fn choose(candidates: &[Candidate], gate: &Gate, (n, rows): (f64, f64)) -> (Vec<usize>, String) {
    let bar = Bar { gate, n, rows };
    let mut heads: Vec<usize> = Vec::new();
    for (i, c) in candidates.iter().enumerate() {
        let same = |h: &usize| candidates[*h].rule == c.rule && candidates[*h].step == c.step;
        match heads.iter().position(same) {
            None => heads.push(i),
            Some(k) if bar.before(c, &candidates[heads[k]], true).is_lt() => heads[k] = i,
            Some(_) => {}
        }
    }
    heads.sort_by(|&a, &b| bar.before(&candidates[a], &candidates[b], false));
    for head in &mut heads {
        *head = bar.insured(candidates, *head);
    }
    let mut rest: Vec<usize> = (0..candidates.len()).filter(|i| !heads.contains(i)).collect();
    rest.sort_by(|&a, &b| bar.before(&candidates[a], &candidates[b], false));
    let best = &candidates[heads[0]];
    let words = bar.words(best);
    heads.extend(rest);
    (heads, words)
}

impl Bar<'_> {
    /// The candidate of the same rule with the most noise that is worth nearly as much.
    fn insured(&self, candidates: &[Candidate], head: usize) -> usize {
        let best = &candidates[head];
        if self.standing(best) != Standing::Certifiable {
            return head;
        }
        let least = self.worth(best, true) * (1.0 - INSURANCE);
        let nearly = |c: &Candidate| {
            let same = c.rule == best.rule && c.step == best.step;
            same && self.standing(c) == Standing::Certifiable && self.worth(c, true) >= least
        };
        let all = (0..candidates.len()).filter(|&i| nearly(&candidates[i]));
        all.max_by(|&a, &b| candidates[a].share.total_cmp(&candidates[b].share)).unwrap_or(head)
    }

    /// Why the best candidate is the best, and what would help where it is not good enough.
    fn words(&self, best: &Candidate) -> String {
        let ratio = best.ratio(self.n, self.rows);
        match self.standing(best) {
            Standing::Certifiable => {
                "chosen: the best lower bound on held-out rows among the candidates that the log supports and a test part can certify"
                    .into()
            }
            Standing::Supported if !best.guarded() => {
                "no candidate both gains and is sure to keep its guardrails within their margins; chosen: the one nearest to that. Larger \
                 margins or more rows would help"
                    .into()
            }
            Standing::Supported if ratio > 0.1 => format!(
                "no candidate gains enough for a test part a third of this size to tell; chosen: the one nearest to that. About {} \
                 rows like these would decide it, or outcomes with less noise",
                round_up(self.rows * (1.0 + TO_TEST) * math::powi((ASKED + SPARE) / ratio, 2))
            ),
            Standing::Supported => {
                "no candidate is better than the log on held-out rows: keep what you do. Contexts that say more about the \
                 outcome, or actions that vary more, would help"
                    .into()
            }
            Standing::Unsupported => {
                let need = MARGIN * self.gate.needs(self.rows * best.figures.draws);
                let share = (best.figures.effective / self.n).max(1e-9);
                format!(
                    "the log supports no candidate: too few rows are effective, or propensities are not densities; chosen: the \
                     one with the most effective rows. About {} rows like these, larger std_share or a smaller step would help",
                    round_up(need / share * (1.0 + TO_TEST))
                )
            }
        }
    }
}

/// Two digits are all that such a number knows.
fn round_up(rows: f64) -> f64 {
    let unit = math::pow(10f64, math::log10(rows.max(1.0)).floor() - 1.0);
    (rows / unit).ceil() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(rule: usize, share: f64, difference: f64, error: f64, effective: f64) -> Candidate {
        let figures = Figures {
            difference,
            error,
            by_model: difference,
            plain_error: error,
            informative: effective,
            tail: f64::INFINITY,
            effective,
            mean_weight: 1.0,
            mean_weight_error: 0.01,
            draws: 1.0,
        };
        Candidate {
            rule: Rule::Greedy(rule),
            share,
            step: 1.0,
            figures,
            slack: f64::INFINITY,
            lead: STACK - difference,
            lead_error: error,
            stack_gain: -STACK,
        }
    }

    /// The cost of the stack, against which candidates lead.
    const STACK: f64 = -0.50;

    #[test]
    fn the_best_lower_bound_wins_among_those_that_can_be_certified() {
        let all = [
            candidate(0, 0.1, -0.50, 0.02, 900.0),
            candidate(1, 0.1, -0.55, 0.08, 900.0),  // better, but less sure
            candidate(2, 0.1, -0.90, 0.01, 30.0),   // not supported
            candidate(3, 0.1, -0.001, 0.02, 900.0), // no gain to speak of
        ];
        let (order, words) = choose(&all, &Gate::default(), (9000.0, 9000.0));
        assert_eq!(order[0], 0);
        assert!(words.contains("lower bound"), "{words}");
        assert_eq!(order.len(), 4);
    }

    #[test]
    fn thin_evidence_needs_a_larger_gain() {
        // 3.5 standard errors of a test part a third of the size
        let gain = -3.5 * 0.02 * 3f64.sqrt();
        let plain = candidate(0, 0.1, gain, 0.02, 900.0);
        assert!(plain.certifiable(9000.0, 9000.0));
        let with = |informative: f64, tail: f64| Candidate {
            figures: Figures { informative, tail, ..plain.figures },
            ..plain
        };
        assert!(!with(30.0, 9.0).certifiable(9000.0, 9000.0), "ten rows of the test part carry its error");
        assert!(!with(900.0, 2.0).certifiable(9000.0, 9000.0), "weights have hardly a variance");
    }

    /// A lead of 1.8 standard errors is luck for another rule, and enough for a smaller step; the error is that of the lead, not of the value.
    #[test]
    fn the_stack_is_left_for_a_clear_gain_alone() {
        let stack = Candidate { lead_error: 0.0, ..candidate(9, 0.1, STACK, 0.02, 900.0) };
        let other = |gain: f64| candidate(0, 0.1, -0.50 - gain * 0.02, 0.02, 900.0);
        let first = |all: &[Candidate]| choose(all, &Gate::default(), (9000.0, 9000.0)).0[0];
        assert_eq!(first(&[stack, other(1.8)]), 0);
        assert_eq!(first(&[stack, other(2.5)]), 1);
        let part = |gain: f64, lead_error: f64| Candidate { step: 0.7, rule: stack.rule, lead_error, ..other(gain) };
        assert_eq!(first(&[stack, part(1.8, 0.02)]), 1);
        assert_eq!(first(&[stack, part(1.2, 0.02)]), 0);
        assert_eq!(first(&[stack, part(0.5, 0.005)]), 1, "what both do alike cancels");
    }

    /// With the same gain by the model the noise that a certificate is likelier to be given for wins.
    #[test]
    fn noise_is_chosen_by_what_remains_after_the_certificate() {
        let all = [candidate(0, 0.05, -0.20, 0.03, 300.0), candidate(0, 0.10, -0.199, 0.01, 900.0)];
        let order = choose(&all, &Gate::default(), (9000.0, 9000.0)).0;
        assert_eq!(order[0], 1);
    }

    /// A sixth of a percent is given up for a noise six times as large, a twentieth is not; nor is a certificate.
    #[test]
    fn noise_that_costs_next_to_nothing_is_kept() {
        let first = |all: &[Candidate]| choose(all, &Gate::default(), (9000.0, 9000.0)).0[0];
        let narrow = candidate(0, 0.018, -0.300, 0.01, 300.0);
        assert_eq!(first(&[narrow, candidate(0, 0.10, -0.2995, 0.01, 900.0)]), 1);
        assert_eq!(first(&[narrow, candidate(0, 0.10, -0.285, 0.01, 900.0)]), 0);
        assert_eq!(first(&[narrow, candidate(0, 0.10, -0.2995, 0.20, 900.0)]), 0);
    }

    #[test]
    fn what_would_help_is_said() {
        let weak = [candidate(0, 0.1, -0.02, 0.02, 900.0)];
        let words = choose(&weak, &Gate::default(), (9000.0, 9000.0)).1;
        assert!(words.contains("rows like these would decide it"), "{words}");
        let worse = [candidate(0, 0.1, 0.02, 0.02, 900.0)];
        assert!(choose(&worse, &Gate::default(), (9000.0, 9000.0)).1.contains("keep what you do"));
        let thin = [candidate(0, 0.1, -0.5, 0.02, 30.0)];
        assert!(choose(&thin, &Gate::default(), (9000.0, 9000.0)).1.contains("supports no candidate"));
    }

    /// The better candidate harms a guardrail; a price on harm leaves less of the gain and keeps to the margin.
    #[test]
    fn what_harms_a_guardrail_is_not_certifiable() {
        let bold = Candidate { slack: -3.0, ..candidate(9, 0.1, -0.80, 0.02, 900.0) };
        let meek = |slack: f64| Candidate { slack, rule: Rule::Guarded(0), ..candidate(0, 0.1, -0.50, 0.02, 900.0) };
        let first = |all: &[Candidate]| choose(all, &Gate::default(), (9000.0, 9000.0));
        assert_eq!(first(&[bold, meek(2.0)]).0[0], 1);
        let (order, words) = first(&[bold, meek(0.2)]);
        assert_eq!(order[0], 1, "it is nearer to a certificate");
        assert!(words.contains("guardrails"), "{words}");
        assert_eq!(first(&[Candidate { slack: 5.0, ..bold }, meek(2.0)]).0[0], 0);
    }

    #[test]
    fn numbers_of_rows_have_two_digits() {
        assert_eq!(round_up(13_700.0), 14_000.0);
        assert_eq!(round_up(999.0), 1000.0);
    }
}
