//! A report with made-up but plausible figures in every section, for the tests to render.

use counterpoint::certify::{Interval, Verdict};
use counterpoint::data::Outcome;
use counterpoint::explain::*;

/// A number in (0, 1) that looks random and is the same everywhere (splitmix64).
fn noise(i: usize, stream: f64) -> f64 {
    let mut z = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stream.to_bits();
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// Roughly normal.
fn bell(i: usize, stream: f64) -> f64 {
    (0..6).map(|k| noise(i * 7 + k * 131, stream + 0.37 * k as f64)).sum::<f64>() * 1.41 - 4.23
}

fn interval(value: f64, half: f64) -> Interval {
    Interval { estimate: value, std_error: half / 1.96, lower: value - half, upper: value + half }
}

fn text(s: &str) -> String {
    s.into()
}

fn reason(standing: Standing, s: &str) -> Reason {
    Reason { standing, text: s.into() }
}

fn fact(name: &str, value: &str) -> Fact {
    Fact { name: name.into(), value: value.into() }
}

/// A certified bidding policy.
pub(crate) fn report() -> PolicyReport {
    PolicyReport {
        title: text("Is there a better policy in bids-2026-q1.parquet?"),
        outcome: OutcomeColumn { name: text("reward"), direction: Outcome::Reward },
        verdict: Some(verdict()),
        lift: Some(lift()),
        weights: vec![weights("valid", 417.2, Some(100.0)), weights("test", 402.9, None)],
        contexts: contexts(),
        actions: vec![actions()],
        predictions: Some(predictions()),
        estimators: Some(estimators()),
        leaderboard: Some(leaderboard()),
        recipe: Some(text(
            "policy = \"clp\"\nfamily = \"lognormal\"\nestimator = \"soft-clipped\"\ncap = 15.0\nvariance_penalty = 0.001\nridge = 0.001\nanchors = 20\ntemperature = 10.0\nstd = \"learned\"\noptimiser = \"lbfgs\"\nproximal_steps = 10\nstarts = 5\nseed = 1\n",
        )),
        assumptions: vec![text("Rows are independent of each other.")],
        caveats: vec![
            text("The estimate rests on 403 effective rows of 10,000: rare kinds of rows are hardly represented."),
            text(
                "37 recipes were tried; the valid figures of the winner are flattered by that choice, the test figures are not.",
            ),
        ],
        provenance: provenance(),
    }
}

/// The least a report can be: what `learn` knows before anything is certified.
pub(crate) fn bare() -> PolicyReport {
    PolicyReport {
        title: text("Policy learned from log.csv"),
        outcome: OutcomeColumn { name: text("cost"), direction: Outcome::Cost },
        verdict: None,
        lift: None,
        weights: vec![],
        contexts: vec![],
        actions: vec![],
        predictions: None,
        estimators: None,
        leaderboard: None,
        recipe: None,
        assumptions: vec![],
        caveats: vec![],
        provenance: Provenance::default(),
    }
}

fn verdict() -> Ruling {
    Ruling {
        decision: Verdict::Deploy,
        reasons: vec![
            reason(Standing::Good, "417 effective rows on the valid part; at least 100 are needed."),
            reason(Standing::Good, "The mean weight is 0.976 on the valid part; it must lie between 0.9 and 1.1."),
            reason(Standing::Good, "The 95% interval of the difference lies wholly above zero."),
            reason(Standing::Note, "The paper\u{2019}s own rule would also say: deploy."),
        ],
    }
}

fn lift() -> Lift {
    Lift {
        part: text("test"),
        rows: 10_000.0,
        confidence: 0.95,
        method: text("self-normalised, paired with the log; bootstrap-t, 2,000 resamples"),
        log: interval(0.5238, 0.0059),
        policy: interval(0.8100, 0.0127),
        difference: interval(0.2862, 0.0138),
        others: vec![Named { name: text("mean action"), interval: interval(0.8193, 0.0161) }],
        p_value: Some(2.1e-7),
    }
}

fn weights(part: &str, effective: f64, floor: Option<f64>) -> PartWeights {
    let mut histogram = Histogram::logarithmic(1e-3, 1e2, 40);
    for i in 0..10_000 {
        let w = (-2.9 + 2.3 * bell(i, effective)).exp().min(72.0);
        histogram.add(w, 1.0);
    }
    PartWeights {
        part: part.into(),
        rows: 10_000.0,
        clusters: false,
        effective,
        floor,
        mean: interval(0.976, 0.094),
        mean_tolerance: floor.map(|_| 0.1),
        largest_share: 0.0132,
        histogram: Some(histogram),
        facts: vec![
            fact("tail index of the weights", "2.9 (above 2: the variance is finite)"),
            fact("rows with weight under 0.001", "12.8%"),
            fact("policy mass where the log was seen", "99.4%"),
        ],
    }
}

fn mean_action(x: f64, other: f64) -> f64 {
    1.6 + 1.1 * (1.4 * x).tanh() + 0.25 * other
}

fn contexts() -> Vec<Dependence> {
    let numeric = |context: &str, stream: f64, sign: f64| {
        let row = |i| {
            let x = -1.5 + 4.0 * noise(i, stream);
            [x, mean_action(sign * x, 1.3 * bell(i, stream + 1.0))]
        };
        let point = |i| {
            let x = -1.5 + 0.1 * f64::from(i);
            let value = mean_action(sign * x, 0.0);
            CurvePoint { x, mean: value, lower: value - 0.33, upper: value + 0.36 }
        };
        let shape = Shape::Numeric { rows: (0..300).map(row).collect(), curve: (0..41).map(point).collect() };
        Dependence { context: context.into(), action: text("bid"), importance: 0.4, shape }
    };
    let level = |name: &str, rows, value, half| Level {
        name: name.into(),
        rows,
        mean: value,
        lower: value - half,
        upper: value + half,
    };
    let levels = vec![
        level("desktop", 14_203.0, 1.92, 0.41),
        level("mobile", 12_118.0, 1.37, 0.36),
        level("tablet", 3_012.0, 1.61, 0.52),
        level("connected television", 667.0, 2.44, 0.61),
    ];
    let device = Dependence {
        context: text("device"),
        action: text("bid"),
        importance: 0.3,
        shape: Shape::Categorical { levels },
    };
    let more =
        (2..8).map(|k| numeric(&format!("feature_{k}"), f64::from(k) + 3.0, if k % 2 == 0 { 0.4 } else { -0.3 }));
    [numeric("x0", 1.0, 1.0), numeric("x1", 2.0, -1.0), device].into_iter().chain(more).collect()
}

fn actions() -> ActionHistograms {
    let mut logged = Histogram::linear(0.0, 5.0, 40);
    let mut policy = Histogram::linear(0.0, 5.0, 40);
    for i in 0..10_000 {
        logged.add((0.3 + 0.5 * bell(i, 1.0)).exp(), 1.0);
        let shift = if noise(i, 5.0) < 0.45 { 1.0 } else { 2.4 };
        policy.add(shift + 0.27 * bell(i, 2.0), 1.0);
    }
    ActionHistograms { action: text("bid"), logged, policy: Some(policy) }
}

fn predictions() -> OutcomeCurves {
    let curve = |context: &str, best: f64| {
        let points = (0..=80).map(|i| {
            let a = 0.05 + f64::from(i) * 0.06;
            [a, 0.15 + 0.72 / (1.0 + 1.9 * (a - best) * (a - best))]
        });
        OutcomeCurve { context: context.into(), points: points.collect(), mean: best + 0.06, std: Some(0.28) }
    };
    let curves = vec![
        curve("x0 = \u{2212}0.41, x1 = 0.92", 1.02),
        curve("x0 = 0.52, x1 = 0.26", 1.75),
        curve("x0 = 1.48, x1 = \u{2212}0.33", 2.48),
    ];
    OutcomeCurves { action: text("bid"), predicted_by: text("a ridge regression on the train part"), curves }
}

fn estimators() -> EstimatorTable {
    let row = |name: &str, value, std_error: f64, share: Option<f64>, mean_weight| EstimatorRow {
        name: name.into(),
        answer: Some(interval(value, 1.96 * std_error)),
        effective: share.map(|s| 10_000.0 * s),
        effective_share: share,
        mean_weight,
        draws: 0,
        failure: None,
    };
    let failed = EstimatorRow {
        answer: None,
        failure: Some(text("it needs the logging policy")),
        ..row("switch", 0.0, 0.0, None, None)
    };
    let estimators = vec![
        row("snips", 0.8100, 0.0062, Some(0.0417), Some(0.976)),
        row("ips", 0.7905, 0.0391, Some(0.0417), Some(0.976)),
        row("clipped", 0.7421, 0.0218, Some(0.0583), Some(0.911)),
        row("soft-clipped", 0.7634, 0.0240, Some(0.0551), Some(0.934)),
        row("doubly-robust", 0.8072, 0.0075, Some(0.0417), Some(0.976)),
        row("direct", 0.8290, 0.0019, None, None),
        failed,
    ];
    EstimatorTable { rows: 10_000.0, estimators, logged: interval(0.5238, 0.0059) }
}

fn leaderboard() -> Leaderboard {
    let tried = |i: usize| {
        let failed = i > 31;
        Tried {
            settings: vec![
                text(["clp", "poly", "linear"][i % 3]),
                text(["lognormal", "normal"][i % 2]),
                format!("{}", [15, 5, 50, 100][i % 4]),
                format!("{}", [0.0, 0.001, 0.01, 0.1][(i / 3) % 4]),
            ],
            estimate: (i != 36).then(|| 0.811 - 0.0041 * i as f64 - 0.002 * noise(i, 1.0)),
            std_error: (i != 36).then(|| 0.0061 + 0.004 * noise(i, 2.0)),
            effective: (i != 36).then(|| if failed { 20.0 + i as f64 } else { 417.0 + 900.0 * noise(i, 3.0) }),
            mean_weight: (i != 36).then(|| 0.93 + 0.12 * noise(i, 4.0)),
            state: text(match i {
                36 => "stopped early: cannot catch up",
                _ if failed => "fails the gate: too few effective rows",
                _ => "passed",
            }),
            chosen: i == 0,
        }
    };
    Leaderboard {
        part: text("valid"),
        settings: ["policy", "family", "cap", "variance_penalty"].map(String::from).into(),
        rows: (0..37).map(tried).collect(),
    }
}

fn provenance() -> Provenance {
    let part = |name: &str, rows| Part { name: name.into(), rows };
    Provenance {
        version: text("0.1.0"),
        seed: Some(1),
        split: text("column \"split\""),
        parts: vec![part("train", 10_000.0), part("valid", 10_000.0), part("test", 10_000.0)],
        files: vec![SourceFile { name: text("bids-2026-q1.parquet"), fingerprint: text("fnv 9f3c51d20ab47e66") }],
        facts: vec![
            fact("contexts", "x0, x1, device and 6 more"),
            fact("action", "bid"),
            fact("reward", "reward"),
            fact("propensity", "column \"propensity\", as logged"),
            fact("rows dropped", "0"),
        ],
    }
}

/// A log of bids with every section.
pub(crate) fn log_report() -> LogReport {
    let mut outcomes = Histogram::linear(0.0, 6.0, 60);
    let mut densities = Histogram::linear(-3.0, 1.0, 60);
    for i in 0..2000 {
        outcomes.add(2.0 + bell(i, 1.0), 1.0);
        densities.add(-1.0 + 0.4 * bell(i, 2.0), 1.0);
    }
    let column = |name: &str| ColumnView {
        name: name.into(),
        mean: 1.0,
        std: 0.5,
        quantiles: [-0.7, -0.1, 0.7, 1.02, 1.3, 2.2, 3.1],
    };
    let line = |std: f64| SupportLine {
        std,
        points: (0..=48)
            .map(|i| [f64::from(i) / 8.0, std * 0.8 * (-(f64::from(i) / 8.0 - 2.0).powi(2)).exp()])
            .collect(),
        supported: Some([0.5, 4.0]),
    };
    LogReport {
        title: text("What is in bids-2026-q1.parquet?"),
        outcome: OutcomeColumn { name: text("reward"), direction: Outcome::Reward },
        rows: 30_000.0,
        mean: interval(0.42, 0.01),
        nonzero: 0.07,
        outcomes,
        actions: vec![actions()],
        propensities: PropensityView {
            integral: interval(1.01, 0.02),
            plausible: true,
            estimated: text("They were not logged but estimated."),
            histogram: densities,
        },
        columns: ["x0", "x1", "bid", "reward"].map(column).into(),
        contexts: 2,
        support: SupportView { action: text("bid"), floor: 0.01, lines: [1.0, 0.5, 0.25, 0.1].map(line).into() },
        warnings: vec![text("context \"x1\" does not vary and says nothing")],
        provenance: provenance(),
    }
}
