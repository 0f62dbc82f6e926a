//! A log in shards: serialised questions, serialised answers, and the bits of the log in one piece.

#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use counterpoint::certify::{Gate, Terms, certify};
use counterpoint::data::{
    ActionQuantiles, BareLog, Hashes, Outcome, Quantiles, Recognised, Sample, SplitRule, Summaries, Weighting,
};
use counterpoint::engine::{Fold, Forest, Stopped};
use counterpoint::evaluate::{Evaluator, every_estimator};
use counterpoint::features::ContextMap;
use counterpoint::folds::{
    Bootstrap, Distances, Entering, Gram, Guarantee, LossOptions, MeanAction, NearMean, OutcomeFacts, Powers,
    PropensityMass, Question, Shape, TargetSums, Totals, WeightAsk,
};
use counterpoint::learn::fit_model;
use counterpoint::policy::{Columns, Kernel, Noise, Rule, RulePolicy, SavedPolicy};
use counterpoint::select::{Grid, Memory};
use counterpoint::source::{Answer, Ask, LocalShard, PolicyWeights, Shard, Shards};
use counterpoint::{
    Engine, Estimator, Log, Policy, Recipe, Result, Source, describe, evaluate, learn, propensity, select,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use support::columns;

const CUTS: [usize; 4] = [1, 2, 3, 7];

/// Eight blocks, the last one short; rewards, with weights that some rows do not have.
fn log() -> Log {
    let c = columns(7500, 2, 1, 3);
    let weight = (0..7500).map(|i| [1.0, 2.0, 0.0, 1.0, 0.5][i % 5]).collect();
    Log::builder()
        .context("x0", c.x[0].clone())
        .context("x1", c.x[1].clone())
        .action("a0", c.a[0].clone())
        .reward("reward", c.y.iter().map(|y| -y).collect())
        .propensity("p", c.p.clone())
        .weight("rows", weight)
        .build()
        .unwrap()
}

fn bare() -> BareLog {
    let c = columns(7500, 2, 1, 4);
    Log::builder()
        .context("x0", c.x[0].clone())
        .context("x1", c.x[1].clone())
        .action("a0", c.a[0].clone())
        .cost("cost", c.y)
        .build_bare()
        .unwrap()
}

/// A shard that counts the bytes that go in and out.
struct Counting(LocalShard, Arc<AtomicUsize>);

impl Shard for Counting {
    fn answer(&self, question: &[u8]) -> Result<Vec<u8>> {
        let answer = self.0.answer(question)?;
        self.1.fetch_add(question.len() + answer.len(), Ordering::Relaxed);
        Ok(answer)
    }
}

fn shards(log: &Log, count: usize) -> Shards {
    let of = |(k, piece): (usize, Log)| -> Box<dyn Shard> {
        Box::new(LocalShard::new(piece, Engine::new(1 + k % 2).unwrap()))
    };
    let pieces = log.pieces(count);
    assert_eq!(pieces.len(), count);
    Shards::new(pieces.into_iter().enumerate().map(of).collect()).unwrap()
}

fn recipes() -> Vec<(&'static str, Recipe)> {
    let small = "starts = 2\nproximal_steps = 2\nmax_iterations = 25\nseed = 5\n";
    let of = |text: &str| Recipe::from_toml(&format!("{small}{text}")).unwrap();
    vec![
        ("clp, soft-clipped", of("policy = \"clp\"\nanchors = 4\nestimator = \"soft-clipped\"")),
        (
            "clp, doubly robust",
            of("policy = \"clp\"\nanchors = 4\nestimator = \"doubly-robust\"\ncontext_map = \"linear\""),
        ),
        ("linear, soft-clipped", of("policy = \"linear\"\nestimator = \"soft-clipped\"\nvariance_penalty = 0.5")),
        (
            "linear, doubly robust",
            of("policy = \"linear\"\nanchors = 4\nestimator = \"doubly-robust\"\ncontext_map = \"nystrom\""),
        ),
    ]
}

/// A number in all its bits.
fn bits(v: &impl serde::Serialize) -> String {
    serde_json::to_string(v).unwrap()
}

#[test]
fn any_cut_of_a_log_learns_the_same_policy_file() {
    let (log, rule) = (log(), SplitRule::default());
    let train = log.split(rule).unwrap().train;
    for (name, recipe) in recipes() {
        let whole = learn(&train, &recipe).unwrap();
        for count in CUTS {
            let cut = learn(&shards(&log, count).split(rule).train, &recipe).unwrap();
            assert_eq!(cut.policy.to_json(), whole.policy.to_json(), "{name} on {count} shards");
            assert_eq!(cut.objective.to_bits(), whole.objective.to_bits());
            assert_eq!(bits(&cut.starts), bits(&whole.starts));
            assert_eq!(cut.model, whole.model);
        }
    }
}

#[test]
fn any_cut_of_a_log_gives_the_same_estimates_and_the_same_certificate() {
    let (log, rule) = (log(), SplitRule::Hash { seed: 3, shares: [0.4, 0.3, 0.3] });
    let parts = log.split(rule).unwrap();
    let recipe = Recipe::from_toml("policy = \"linear\"\nstarts = 1\nproximal_steps = 1").unwrap();
    let policy = learn(&parts.train, &recipe).unwrap().policy;
    let logging = support::logging(2, 1);
    let model = fit_model(&parts.train, &policy, &recipe).unwrap();
    let estimates = |valid: &dyn Source| -> Vec<String> {
        let one = |(name, e): (&str, Estimator)| {
            let evaluator = Evaluator::new(e).model(Some(&model)).logging(Some(&logging));
            format!("{name} {}", bits(&evaluator.evaluate(valid, &policy).unwrap()))
        };
        every_estimator(8.0).into_iter().map(one).collect()
    };
    let terms = |k: usize| Terms { seed: k as u64, ..if k == 2 { Terms::paper() } else { Terms::default() } };
    let (seen, issued) = (
        estimates(&parts.valid),
        [0, 2].map(|k| bits(&certify(&policy, &parts.valid, &parts.test, &terms(k)).unwrap())),
    );
    for count in CUTS {
        let cut = shards(&log, count).split(rule);
        assert_eq!(estimates(&cut.valid), seen, "{count} shards");
        assert_eq!(fit_model(&cut.train, &policy, &recipe).unwrap(), model);
        for (k, issued) in [0, 2].into_iter().zip(&issued) {
            assert_eq!(&bits(&certify(&policy, &cut.valid, &cut.test, &terms(k)).unwrap()), issued, "{count} shards");
        }
    }
}

#[test]
fn any_cut_of_a_log_gives_the_same_propensities() {
    let whole = propensity::fit(&Engine::single(), bare()).unwrap();
    let rule = SplitRule::default();
    let policy =
        Policy::constant(counterpoint::policy::Family::LogNormal, &["x0", "x1"], &["a0"], &[1.8], &[0.9]).unwrap();
    let value = |rows: &dyn Source| bits(&evaluate(rows, &policy, &Estimator::SNIPS).unwrap());
    for count in CUTS {
        let shard = |piece: BareLog| -> Box<dyn Shard> { Box::new(LocalShard::bare(piece, Engine::single())) };
        let cut = Shards::new(bare().pieces(count).into_iter().map(shard).collect()).unwrap();
        let e = evaluate(&cut, &policy, &Estimator::SNIPS).unwrap_err().to_string();
        assert!(e.contains("no propensities"), "{e}");
        let fitted = propensity::estimate(&cut).unwrap();
        let cut = cut.with_densities(&fitted).unwrap();
        assert_eq!(cut.schema(), whole.schema());
        assert_eq!(Some(&fitted.facts), whole.schema().propensities.estimated());
        // the densities stayed with the shards: what they give is what the log in one piece gives
        assert_eq!(value(&cut), value(&whole));
        assert_eq!(value(&cut.split(rule).test), value(&whole.split(rule).unwrap().test));
        let all = Sample { limit: u64::MAX, contexts: false };
        let log_p = (&cut as &dyn Source).get(all).unwrap().log_p;
        assert!(
            log_p.iter().zip(whole.blocks().iter().flat_map(|b| &b.log_p)).all(|(a, b)| a.to_bits() == b.to_bits())
        );
    }
}

#[test]
fn any_cut_of_a_log_is_described_and_selected_from_alike() {
    let (log, rule) = (log(), SplitRule::default());
    let parts = log.split(rule).unwrap();
    let text = "keep = 1.0\n[recipe]\npolicy = \"constant\"\nstarts = 1\nstd = [0.5, 0.9]\n";
    let grids = [0, 3].map(|folds| Grid { folds, ..Grid::from_toml(text).unwrap() });
    let chosen = grids.each_ref().map(|g| select(&parts, g, 1, Gate::default(), &Memory::none()).unwrap());
    for count in CUTS {
        let cut = shards(&log, count);
        assert_eq!(bits(&describe(&cut).unwrap()), bits(&describe(&log).unwrap()), "{count} shards");
        for (grid, chosen) in grids.iter().zip(&chosen) {
            let again = select(&cut.split(rule), grid, 1, Gate::default(), &Memory::none()).unwrap();
            assert_eq!(again.policy.to_json(), chosen.policy.to_json());
            assert_eq!(bits(&again.leaderboard), bits(&chosen.leaderboard));
        }
    }
}

#[test]
fn small_questions_have_the_same_answers_and_rows_do_not_travel() {
    let log = log();
    let bytes = Arc::new(AtomicUsize::new(0));
    let shard =
        |piece: Log| -> Box<dyn Shard> { Box::new(Counting(LocalShard::new(piece, Engine::single()), bytes.clone())) };
    let cut = Shards::new(log.pieces(3).into_iter().map(shard).collect()).unwrap();
    let (cut, whole): (&dyn Source, &dyn Source) = (&cut, &log);
    assert_eq!(cut.get(Summaries).unwrap(), whole.get(Summaries).unwrap());
    assert_eq!(cut.get(Quantiles).unwrap(), whole.get(Quantiles).unwrap());
    assert_eq!(cut.get(ActionQuantiles).unwrap(), whole.get(Quantiles).unwrap().actions);
    assert_eq!(
        cut.get(Hashes::of(100, Recognised::Content)).unwrap(),
        whole.get(Hashes::of(100, Recognised::Content)).unwrap()
    );
    let sample = Sample::of(7500, 500);
    assert_eq!(cut.get(sample).unwrap(), whole.get(sample).unwrap());
    assert_eq!(cut.schema().direction, Outcome::Reward);
    // one evaluation of a policy asks for sums, of which no shard has more than a few kilobytes
    let policy = support::logging(2, 1);
    bytes.store(0, Ordering::Relaxed);
    evaluate(cut, &policy, &Estimator::SNIPS).unwrap();
    let travelled = bytes.load(Ordering::Relaxed);
    assert!(travelled < 40_000, "{travelled} bytes travelled; the rows are {} bytes", 7500 * 6 * 8);
}

/// Every question that has public fields, and how often it is cut where; those of propensity models are asked above.
#[test]
fn every_question_merges_alike_at_any_cut() {
    let (log, policy) = (log().split(SplitRule::default()).unwrap().train, support::logging(2, 1));
    let model = support::loss_model(2, 1);
    let options = LossOptions {
        scaler: model.scaler.clone(),
        map: model.map.clone(),
        actions: model.actions.clone(),
        ridge: 0.1,
    };
    let shape = Shape { log_scale: 0.1, centre: -0.3, value: 0.2, difference: 0.1, vbar: 0.02, zbar: 0.0 };
    let weights = [
        WeightAsk::Totals(Totals),
        WeightAsk::Sums(Bootstrap {
            replicates: 12,
            seed: 3,
            log_scale: 0.1,
            centre: -0.3,
            of: Powers::Squares,
            together: 1,
        }),
        WeightAsk::Shape(shape),
        WeightAsk::Guarantee(Guarantee { cost_range: [-2.0, 2.0] }),
    ];
    let distances = Distances { units: vec![0.7], widest: 1.0, steps: 5, centre: 0.2, weighting: Weighting::Sampling };
    let mut asks = vec![
        Ask::Summaries(Summaries),
        Ask::Quantiles(Quantiles),
        Ask::ActionQuantiles(ActionQuantiles),
        Ask::Sample(Sample::of(7500, 600)),
        Ask::Hashes(Hashes::of(50, Recognised::Row)),
        Ask::Gram(Gram::new(options).unwrap()),
        Ask::MeanAction(MeanAction { policy: policy.clone().into(), model: model.clone() }),
        Ask::Near(NearMean { policy: policy.clone().into(), distances }),
        Ask::Outcome(OutcomeFacts),
        Ask::Mass(PropensityMass { central: vec![(0.5, 3.0)] }),
    ];
    // a policy that is not parametric: doubly robust, with draws where the noise has no closed form
    let mut rule = RulePolicy {
        columns: Columns::named(&["x0", "x1"], &["a0"]),
        scaler: model.scaler.clone(),
        rule: Rule::Linear { map: ContextMap::Linear, w: vec![0.3, -0.2, 1.5], range: None },
        noise: Some(Noise { kernel: Kernel::Epanechnikov, width: 0.8, range: Some([0.1, 5.0]) }),
    };
    for estimator in [Estimator::SNIPS, Estimator::DR] {
        let question = Question::new(estimator).with_model(model.clone());
        asks.push(Ask::Target(TargetSums {
            policy: rule.clone().into(),
            question,
            of: Entering { shift: 0.1, powers: Powers::Squares },
        }));
        rule = rule.with_std(0.4);
    }
    let saved = SavedPolicy::from(policy);
    asks.extend(weights.map(|ask| {
        Ask::Weights(PolicyWeights {
            policy: saved.clone(),
            range: vec![[0.1, 5.0]],
            control: None,
            weighting: Weighting::Sampling,
            ask,
        })
    }));
    let blocks = log.blocks();
    for ask in &asks {
        let whole = format!("{:?}", Engine::single().ask(ask, blocks));
        let mut merge = |o: &Answer, into: &mut Answer| ask.merge(o, into);
        for k in 0..24 {
            let engine = Engine::new(1 + k % 3).unwrap();
            let mut cuts = vec![0, k % (blocks.len() + 1), (5 * k + 3) % (blocks.len() + 1), blocks.len()];
            cuts.sort_unstable();
            let mut all = Forest::default();
            for ends in cuts.windows(2) {
                all.append(engine.forest(ask, &blocks[ends[0]..ends[1]]).unwrap(), &mut merge).unwrap();
            }
            let mut answer = all.finish(&mut merge).unwrap();
            ask.finish(&mut answer);
            assert_eq!(format!("{answer:?}"), whole, "{ask:?} cut at {cuts:?}");
            assert_eq!(format!("{:?}", engine.ask(ask, blocks)), whole);
        }
    }
}

/// A shard that is started anew, with its rows and nothing else, before every so many questions.
struct Mortal {
    rows: Log,
    shard: std::sync::Mutex<LocalShard>,
    every: usize,
    asked: AtomicUsize,
}

impl Shard for Mortal {
    fn answer(&self, question: &[u8]) -> Result<Vec<u8>> {
        let mut shard = self.shard.lock().unwrap();
        if (self.asked.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(self.every) {
            *shard = LocalShard::new(self.rows.clone(), Engine::single());
        }
        shard.answer(question)
    }
}

#[test]
fn shards_that_die_and_are_started_anew_change_nothing() {
    let (log, rule) = (log(), SplitRule::default());
    let (name, recipe) = recipes().swap_remove(0);
    let whole = learn(&log.split(rule).unwrap().train, &recipe).unwrap();
    let mortal = |every: usize| {
        let of = |(k, rows): (usize, Log)| -> Box<dyn Shard> {
            let shard = LocalShard::new(rows.clone(), Engine::single());
            Box::new(Mortal { rows, shard: shard.into(), every: every + k, asked: AtomicUsize::new(0) })
        };
        Shards::new(log.pieces(3).into_iter().enumerate().map(of).collect()).unwrap()
    };
    for every in [5, 17] {
        let cut = learn(&mortal(every).split(rule).train, &recipe).unwrap();
        assert_eq!(cut.policy.to_json(), whole.policy.to_json(), "{name}, a death every {every} questions");
    }
    // one that never lives long enough to answer is not asked for ever
    let e = learn(&mortal(1).split(rule).train, &recipe).err().unwrap().to_string();
    assert!(e.contains("again and again"), "{e}");
}

/// Raises a flag after so many answers.
struct Stopping(LocalShard, Arc<AtomicBool>, AtomicUsize);

impl Shard for Stopping {
    fn answer(&self, question: &[u8]) -> Result<Vec<u8>> {
        if self.2.fetch_add(1, Ordering::Relaxed) == 30 {
            self.1.store(true, Ordering::Relaxed);
        }
        self.0.answer(question)
    }
}

/// Work that is told to stop in the middle unwinds, and what was prepared elsewhere is released on the way: nothing panics twice.
#[test]
fn shards_are_stopped_in_the_middle_of_a_fit() {
    let (log, stop) = (log(), Arc::new(AtomicBool::new(false)));
    let (_, recipe) = recipes().swap_remove(0);
    let shard = Stopping(LocalShard::new(log, Engine::single()), stop.clone(), AtomicUsize::new(0));
    let shards = Shards::new(vec![Box::new(shard)]).unwrap().on(Engine::single().stopped_by(stop));
    let train = shards.split(SplitRule::default()).train;
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| learn(&train, &recipe)));
    assert!(ended.err().unwrap().is::<Stopped>());
}

#[test]
fn what_is_wrong_elsewhere_is_said_here() {
    let log = log();
    let garbled = LocalShard::new(log.clone(), Engine::single()).answer(&[1, 2, 3]).unwrap_err().to_string();
    assert!(garbled.contains("message") && garbled.contains("version"), "{garbled}");
    let other = columns(2000, 1, 1, 1).log();
    let mixed =
        [log.pieces(2)[0].clone(), other].map(|l| -> Box<dyn Shard> { Box::new(LocalShard::new(l, Engine::single())) });
    let e = Shards::new(mixed.into()).err().unwrap().to_string();
    assert!(e.contains("different columns"), "{e}");
    assert!(Shards::new(Vec::new()).is_err());
    // pieces in the wrong order, or twice, are noticed
    let pieces = log.pieces(3);
    for order in [[1, 0, 2], [0, 0, 1]] {
        let wrong = order.map(|k| -> Box<dyn Shard> { Box::new(LocalShard::new(pieces[k].clone(), Engine::single())) });
        let wrong = Shards::new(wrong.into()).unwrap();
        let e = (&wrong as &dyn Source).get(Summaries).unwrap_err().to_string();
        assert!(e.contains("same blocks"), "{e}");
    }
}
