//! Fills the report from what the library said: a certificate, a policy, and the parts of the log.

use counterpoint::certify::{self, Certificate};
use counterpoint::data::{Input, Outcome as Direction, Parts};
use counterpoint::features::anchors::quantile_sorted;
use counterpoint::folds::{LossOptions, fit_loss_model, score};
use counterpoint::policy::Mean;
use counterpoint::{Engine, Estimator, Log, Policy, Recipe, Result, Selected, evaluate};
use counterpoint_report::*;

/// What a report is made of.
pub(crate) struct Story<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) log: &'a Log,
    pub(crate) parts: &'a Parts,
    pub(crate) policy: &'a Policy,
    pub(crate) certificate: &'a Certificate,
    pub(crate) recipe: Option<&'a Recipe>,
    pub(crate) selected: Option<&'a Selected>,
    /// The log by name, and how it was split.
    pub(crate) name: String,
    pub(crate) split: String,
    pub(crate) seed: u64,
}

/// Rows that are drawn or averaged over for pictures.
const SAMPLE: usize = 400;

impl Story<'_> {
    /// The page.
    pub(crate) fn html(&self) -> Result<String> {
        Ok(self.report()?.html())
    }

    /// The whole report.
    fn report(&self) -> Result<Report> {
        let c = self.certificate;
        let direction = self.log.schema().direction;
        let better = if direction == Direction::Reward { Better::Higher } else { Better::Lower };
        Ok(Report {
            title: format!("Is there a better policy in {}?", self.name),
            outcome: Outcome { name: self.log.schema().outcome.clone(), better },
            verdict: Some(self.verdict()),
            lift: Some(Lift {
                part: "test".into(),
                rows: c.test.rows,
                confidence: c.terms.confidence,
                method: format!(
                    "self-normalised, paired with the log; {:?}, {} resamples",
                    c.terms.interval, c.terms.bootstrap
                ),
                log: interval(&c.logged),
                policy: interval(&c.value),
                difference: interval(&c.difference),
                others: Vec::new(),
                p_value: Some(c.p_value),
            }),
            weights: vec![self.weights("valid", &self.parts.valid)?, self.weights("test", &self.parts.test)?],
            contexts: self.contexts(),
            actions: self.actions()?,
            cost_curves: self.cost_curves()?,
            estimators: self.estimators()?,
            leaderboard: self.selected.map(|s| self.leaderboard(s)),
            recipe: self.recipe.map(Recipe::to_toml),
            assumptions: assumptions(match self.log.schema().propensities.estimated() {
                Some(_) => Propensities::Estimated,
                None => Propensities::Logged,
            }),
            caveats: self.caveats(),
            provenance: self.provenance(),
        })
    }

    fn user(&self, cost: f64) -> f64 {
        self.log.schema().direction.to_user(cost)
    }

    fn verdict(&self) -> Verdict {
        let (decision, standing) = match self.certificate.verdict {
            certify::Verdict::Deploy => (Decision::Deploy, Standing::Good),
            certify::Verdict::Keep => (Decision::Keep, Standing::Note),
            certify::Verdict::Invalid => (Decision::Invalid, Standing::Bad),
        };
        let sentence = self.certificate.propensities.sentence();
        let reason = |text: &String| match Some(text) == sentence.as_ref() {
            // not a check that holds or fails
            true => Reason { standing: Standing::Note, text: text.clone() },
            false => Reason { standing, text: text.clone() },
        };
        let reasons = self.certificate.reasons.iter().map(reason).collect();
        Verdict { decision, reasons }
    }

    fn weights(&self, part: &str, log: &Log) -> Result<Weights> {
        let d = if part == "valid" { &self.certificate.valid } else { &self.certificate.test };
        let terms = &self.certificate.terms;
        let mut histogram = Histogram::logarithmic(1e-4, 1e3, 42);
        for s in score(self.engine, log, self.policy)? {
            s.log_w.iter().zip(&s.omega).for_each(|(l, o)| histogram.add(l.exp(), *o));
        }
        let gated = part == "valid";
        let fact = |name: &str, value: String| Fact { name: name.into(), value };
        let mut facts = vec![
            fact("weight carried by the heaviest 1% of rows", format!("{:.1}%", 100.0 * d.top_percent_share)),
            fact("policy's mass outside the logged actions", format!("{:.2}%", 100.0 * d.outside)),
        ];
        facts.extend(d.tail_index.map(|t| fact("tail index of the weights (below 2: no variance)", format!("{t:.2}"))));
        Ok(Weights {
            part: part.into(),
            rows: d.rows,
            effective: d.effective,
            floor: gated.then(|| terms.min_effective_rows.max(terms.min_effective_share * d.rows)),
            mean: interval(&d.mean_weight),
            mean_tolerance: gated.then_some(terms.max_mean_weight_error),
            largest_share: d.largest_share,
            histogram: Some(histogram),
            facts,
        })
    }

    /// Partial dependence of the mean on each numeric context; means by level for categories.
    fn contexts(&self) -> Vec<ContextView> {
        let (x, _) = self.parts.train.thin(SAMPLE);
        let d = self.policy.d();
        if d == 0 {
            return Vec::new();
        }
        let rows: Vec<&[f64]> = x.chunks_exact(d).collect();
        let mut scorer = self.policy.scorer();
        let mut mu = vec![0.0; self.policy.q()];
        let mut views = Vec::new();
        let mut first = 0;
        for input in self.policy.encoding() {
            let width = input.width();
            for (c, action) in self.policy.actions.iter().enumerate() {
                let mut mean_at = |set: &dyn Fn(&mut [f64])| -> Vec<f64> {
                    let mut means: Vec<f64> = rows
                        .iter()
                        .map(|r| {
                            let mut r = r.to_vec();
                            set(&mut r);
                            scorer.mean(&r, &mut mu);
                            mu[c]
                        })
                        .collect();
                    means.sort_by(f64::total_cmp);
                    means
                };
                let seen = match &input {
                    Input::Number { .. } => {
                        let mut values: Vec<f64> = rows.iter().map(|r| r[first]).collect();
                        values.sort_by(f64::total_cmp);
                        let (low, high) = (quantile_sorted(&values, 0.01), quantile_sorted(&values, 0.99));
                        let curve = (0..=40)
                            .map(|i| {
                                let at = low + (high - low) * f64::from(i) / 40.0;
                                let means = mean_at(&|r| r[first] = at);
                                let value = means.iter().sum::<f64>() / means.len() as f64;
                                Band {
                                    x: at,
                                    value,
                                    low: quantile_sorted(&means, 0.1),
                                    high: quantile_sorted(&means, 0.9),
                                }
                            })
                            .collect();
                        let points = rows
                            .iter()
                            .map(|r| {
                                scorer.mean(r, &mut mu);
                                [r[first], mu[c]]
                            })
                            .collect();
                        Seen::Numeric { rows: points, curve }
                    }
                    Input::Category { levels, .. } => Seen::Categorical {
                        levels: levels
                            .iter()
                            .enumerate()
                            .map(|(l, name)| {
                                let means = mean_at(&|r| {
                                    (0..width).for_each(|k| r[first + k] = if k == l { 1.0 } else { 0.0 })
                                });
                                let value = means.iter().sum::<f64>() / means.len().max(1) as f64;
                                Level {
                                    name: name.clone(),
                                    rows: rows.iter().filter(|r| r[first + l] == 1.0).count() as f64,
                                    mean: Interval {
                                        value,
                                        low: quantile_sorted(&means, 0.1),
                                        high: quantile_sorted(&means, 0.9),
                                    },
                                }
                            })
                            .collect(),
                    },
                };
                views.push(ContextView { context: input.name().into(), action: action.clone(), seen });
            }
            first += width;
        }
        views.truncate(12);
        views
    }

    /// Logged actions against actions drawn from the policy for the same contexts.
    fn actions(&self) -> Result<Vec<ActionView>> {
        let mut scorer = self.policy.scorer();
        let mut views = Vec::new();
        let mut x = vec![0.0; self.policy.d()];
        for (c, action) in self.policy.actions.iter().enumerate() {
            let mut sorted: Vec<f64> = self.parts.valid.blocks().iter().flat_map(|b| b.a[c].to_vec()).collect();
            sorted.sort_by(f64::total_cmp);
            let (low, high) = (quantile_sorted(&sorted, 0.001), quantile_sorted(&sorted, 0.995));
            let (mut logged, mut drawn) = (Histogram::linear(low, high, 60), Histogram::linear(low, high, 60));
            for b in self.parts.valid.blocks() {
                for i in 0..b.rows() {
                    b.context(i, &mut x);
                    logged.add(b.a[c][i], b.omega[i]);
                    drawn.add(scorer.sample(&x, self.seed, b.ids[i]).0[c], b.omega[i]);
                }
            }
            views.push(ActionView { action: action.clone(), logged, policy: Some(drawn) });
        }
        Ok(views)
    }

    /// What a ridge regression on the train part predicts over the action, for a few typical contexts.
    fn cost_curves(&self) -> Result<Vec<CostCurves>> {
        let (Mean::Clp(clp), 1, true) = (&self.policy.mean, self.policy.q(), self.policy.d() > 0) else {
            return Ok(Vec::new());
        };
        let options = LossOptions {
            scaler: self.policy.scaler.clone(),
            map: clp.map.clone(),
            actions: clp.actions.clone(),
            ridge: 1e-4,
        };
        let model = fit_loss_model(self.engine, &self.parts.train, &options)?;
        let (x, _) = self.parts.train.thin(SAMPLE);
        let d = self.policy.d();
        // rows whose mean action lies low, in the middle and high: where the policy differs
        let mut rows: Vec<(f64, &[f64])> = x.chunks_exact(d).map(|r| (self.policy.mean(r)[0], r)).collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let anchors = &clp.actions.anchors;
        let (low, high) = (anchors[0], anchors[anchors.len() - 1]);
        let curves = [0.1, 0.5, 0.9]
            .iter()
            .map(|level| {
                let (mean, row) = rows[((rows.len() - 1) as f64 * level) as usize];
                let words: Vec<String> =
                    self.policy.contexts.iter().zip(row).take(4).map(|(n, v)| format!("{n} = {v:.2}")).collect();
                let points = (0..=80)
                    .map(|i| {
                        let a = low + (high - low) * f64::from(i) / 80.0;
                        [a, self.user(model.predict(row, &[a]))]
                    })
                    .collect();
                CostCurve { context: words.join(", "), points, mean, std: self.policy.std()[0] }
            })
            .collect();
        let predicted_by = "ridge regression on the train part; for orientation, the verdict does not use it".into();
        Ok(vec![CostCurves { action: self.policy.actions[0].clone(), predicted_by, curves }])
    }

    fn estimators(&self) -> Result<Vec<Estimated>> {
        let cap = self.recipe.map_or(15.0, |r| r.cap);
        [
            ("self-normalised (SNIPS)", Estimator::SNIPS),
            ("importance weighted (IPS)", Estimator::IPS),
            ("clipped", Estimator::clipped(cap)),
            ("soft-clipped", Estimator::soft_clipped(cap)),
        ]
        .iter()
        .map(|(name, estimator)| {
            let e = evaluate(self.engine, &self.parts.valid, self.policy, estimator, None)?;
            let value = self.user(e.cost);
            let half = 1.96 * e.std_error;
            Ok(Estimated {
                estimator: format!("{name}, valid part"),
                interval: Interval { value, low: value - half, high: value + half },
                std_error: e.std_error,
                effective_share: Some(e.effective / e.rows),
                mean_weight: Some(e.mean_weight),
            })
        })
        .collect()
    }

    fn leaderboard(&self, selected: &Selected) -> Leaderboard {
        let tables: Vec<toml::Table> =
            selected.leaderboard.iter().map(|e| toml::from_str(&e.recipe.to_toml()).unwrap_or_default()).collect();
        let settings: Vec<String> = tables
            .first()
            .map(|t| t.keys().filter(|k| tables.iter().any(|o| o.get(*k) != t.get(*k))).cloned().collect())
            .unwrap_or_default();
        let rows = selected.leaderboard.iter().zip(&tables).enumerate().map(|(rank, (e, t))| Tried {
            settings: settings
                .iter()
                .map(|s| t.get(s).map_or("automatic".into(), |v| v.to_string().trim_matches('"').to_string()))
                .collect(),
            value: e.cost.map(|c| self.user(c)),
            std_error: e.std_error.is_finite().then_some(e.std_error),
            effective: Some(e.effective_share * self.certificate.valid.rows),
            mean_weight: Some(e.mean_weight),
            state: match (&e.failure, e.cost) {
                (Some(f), _) => f.clone(),
                (None, None) => "behind the gate".into(),
                (None, Some(_)) if e.round == 1 => "first round".into(),
                _ => "passed".into(),
            },
            chosen: rank == 0,
        });
        Leaderboard { part: "valid".into(), settings: settings.clone(), rows: rows.collect() }
    }

    fn caveats(&self) -> Vec<String> {
        let c = self.certificate;
        let mut out = Vec::new();
        for w in self.log.schema().propensities.estimated().iter().flat_map(|e| &e.warnings) {
            out.push(format!("Estimated propensities: {w}."));
        }
        if c.test.effective_share < 0.1 {
            out.push(format!(
                "The estimate rests on {:.0} effective rows of {:.0}: rare kinds of rows are hardly represented.",
                c.test.effective, c.test.rows
            ));
        }
        if let Some(s) = self.selected {
            out.push(format!(
                "{} recipes were tried; the valid figures of the winner are flattered by that choice, the test figures are not.",
                s.leaderboard.len()
            ));
        }
        out
    }

    fn provenance(&self) -> Provenance {
        let part = |name: &str, log: &Log| Part { name: name.into(), rows: log.rows() as f64 };
        let schema = self.log.schema();
        let fact = |name: &str, value: String| Fact { name: name.into(), value };
        Provenance {
            version: env!("CARGO_PKG_VERSION").into(),
            seed: Some(self.seed),
            split: self.split.clone(),
            parts: vec![
                part("train", &self.parts.train),
                part("valid", &self.parts.valid),
                part("test", &self.parts.test),
            ],
            files: vec![SourceFile { name: self.name.clone(), fingerprint: self.certificate.fingerprint.clone() }],
            facts: vec![
                fact("contexts", schema.contexts.join(", ")),
                fact("actions", schema.actions.join(", ")),
                fact("outcome", schema.outcome.clone()),
                fact("propensity", propensity(self.log)),
                fact("rows dropped", self.log.dropped().rows.to_string()),
            ],
        }
    }
}

/// Where the propensities come from, in words.
pub(crate) fn propensity(log: &Log) -> String {
    let schema = log.schema();
    match schema.propensities.estimated() {
        None => schema.propensity.clone(),
        Some(e) => {
            let models: Vec<String> = e
                .actions
                .iter()
                .map(|m| format!("{}: {}, {} mean, {} std", m.action, m.family, m.mean, m.std))
                .collect();
            format!("estimated, cross-fitted in {} folds ({})", e.folds, models.join("; "))
        }
    }
}

fn interval(i: &certify::Interval) -> Interval {
    Interval { value: i.estimate, low: i.lower, high: i.upper }
}
