//! Worlds of a fourth adversary. Here a log is made as a whole: its rows may belong together, copy each other or come from different times, its densities
//! may be wrong in a part of it, its outcomes may be late, missing or known to a context.
//!
//! A log has four times as many rows as a part, and is divided as users divide theirs. What cannot be told from right logs by any look at
//! the rows ([`Sight::Hidden`]) is kept apart: there a rate says what trust in a log may cost, and no rule could mend it.

use super::laws::{Member, gauss};
use super::{Gauss, Outcomes, Truth, exponential, normal, uniform};
use counterpoint::certify::{Certificate, Terms, certify};
use counterpoint::data::{Part, SplitRule};
use counterpoint::policy::{Family, Law, TargetPolicy};
use counterpoint::{Engine, Log, Result};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use rayon::prelude::*;

/// A row of a log.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Contexts.
    pub x: Vec<f64>,
    /// Actions.
    pub a: Vec<f64>,
    /// The density that is written down.
    pub p: f64,
    /// The outcome that is written down.
    pub y: f64,
    /// Its cluster, where the log has clusters.
    pub cluster: Option<u64>,
}

/// Whether the rows can show what is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// They can.
    Open,
    /// They cannot: the same rows may come from a log that is right.
    Hidden,
    /// Nothing is wrong: a refusal is an error.
    Right,
}

/// A world of whole logs.
#[derive(Clone, Copy)]
pub struct Siege {
    /// What it is called.
    pub name: &'static str,
    /// What is true; `deploy` is an error unless it is a gain.
    pub truth: Truth,
    /// Whether rows can show it.
    pub sight: Sight,
    /// Rows of the valid and of the test part.
    pub rows: &'static [usize],
    /// The rows of a log.
    pub log: fn(usize, &mut ChaCha8Rng) -> Vec<Row>,
    /// The policy to be certified.
    pub policy: fn() -> Box<dyn TargetPolicy>,
    /// The range of outcomes that is stated.
    pub range: Option<[f64; 2]>,
    /// Whether the log is divided by time, which is the order of its rows: the last quarter is the test part.
    pub by_time: bool,
}

impl Siege {
    /// A log of `n` rows; outcomes are rewards.
    pub fn log(&self, n: usize, seed: u64) -> Result<Log> {
        let rows = (self.log)(n, &mut ChaCha8Rng::seed_from_u64(seed));
        let column = |f: &dyn Fn(&Row) -> f64| rows.iter().map(f).collect::<Vec<f64>>();
        let mut log = Log::builder();
        for c in 0..rows[0].x.len() {
            log = log.context(&format!("x{c}"), column(&|r| r.x[c]));
        }
        for c in 0..rows[0].a.len() {
            log = log.action(&format!("a{c}"), column(&|r| r.a[c]));
        }
        let mut log = log.propensity("p", column(&|r| r.p)).reward("y", column(&|r| r.y));
        if self.by_time {
            let part = |i: usize| [Part::Train, Part::Train, Part::Valid, Part::Test][4 * i / rows.len()];
            log = log.parts((0..rows.len()).map(part).collect());
        }
        let keys: Option<Vec<String>> = rows.iter().map(|r| r.cluster.map(|c| c.to_string())).collect();
        match keys {
            Some(keys) => log.cluster("user", keys).build(),
            None => log.build(),
        }
    }
}

/// Certifies the policy of a world on `logs` logs with about n valid and n test rows. A log that is not accepted is refused.
pub fn besiege(siege: &Siege, n: usize, logs: usize, seed: u64) -> Outcomes {
    let certificates: Vec<Option<Certificate>> = (0..logs as u64)
        .into_par_iter()
        .map_init(Engine::single, |engine, k| {
            let log = siege.log(4 * n, (seed << 32) + (n as u64) * 100_003 + k).ok()?;
            let rule = if siege.by_time { SplitRule::Column } else { SplitRule::default() };
            let parts = log.split(rule).ok()?;
            let terms = Terms { seed: k, outcome_range: siege.range, ..Terms::default() };
            certify(&*(siege.policy)(), &parts.valid.on(engine), &parts.test.on(engine), &terms).ok()
        })
        .collect();
    let mut o = Outcomes::default();
    certificates.iter().for_each(|c| o.add_or_refuse(c.as_ref()));
    o
}

/// So many rows, each for itself.
pub(super) fn rows(n: usize, r: &mut ChaCha8Rng, mut one: impl FnMut(usize, &mut ChaCha8Rng) -> Row) -> Vec<Row> {
    (0..n).map(|i| one(i, r)).collect()
}

pub(super) fn row(x: Vec<f64>, (a, p): (f64, f64), y: f64) -> Row {
    Row { x, a: vec![a], p, y, cluster: None }
}

pub(super) fn two(r: &mut ChaCha8Rng) -> Vec<f64> {
    vec![normal(r), 2.0 * uniform(r) - 1.0]
}

pub(super) fn normals(d: usize, r: &mut ChaCha8Rng) -> Vec<f64> {
    (0..d).map(|_| normal(r)).collect()
}

pub(super) fn density(a: f64, mean: f64, std: f64) -> f64 {
    Family::Normal.log_density(a, mean, std).value.exp()
}

/// Happens with probability p.
fn event(p: f64, r: &mut ChaCha8Rng) -> f64 {
    f64::from(uniform(r) < p)
}

/// N(.5, .7), which most worlds judge.
fn shifted() -> Box<dyn TargetPolicy> {
    Box::new(Gauss { mean: |_| 0.5, std: |_| 0.7 })
}

/// Clusters of the sizes that `size` draws; the rows of each are made by `one` from its habit and its level.
fn clusters(
    n: usize,
    r: &mut ChaCha8Rng,
    size: fn(&mut ChaCha8Rng) -> usize,
    one: fn(f64, f64, usize, &mut ChaCha8Rng) -> Row,
) -> Vec<Row> {
    let mut all = Vec::with_capacity(n);
    let mut cluster = 0;
    while all.len() < n {
        let (habit, level) = (normal(r), normal(r));
        for k in 0..size(r) {
            all.push(Row { cluster: Some(cluster), ..one(habit, level, k, r) });
        }
        cluster += 1;
    }
    all
}

/// Two actions that the log moves against each other; in some contexts the policy moves them together.
struct Pair {
    away: fn(&[f64]) -> bool,
}

impl Pair {
    fn means(&self, x: &[f64]) -> [f64; 2] {
        if (self.away)(x) { [1.3, 1.3] } else { [0.4, -0.36] }
    }
}

impl TargetPolicy for Pair {
    fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
        let m = self.means(x);
        (0..2).map(|c| Family::Normal.log_density(a[c], m[c], 0.4).value).sum()
    }

    fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        let z = |rng: &mut dyn Rng| -> f64 { rand_distr::Distribution::sample(&rand_distr::StandardNormal, rng) };
        self.means(x).iter().map(|m| m + 0.4 * z(rng)).collect()
    }

    fn mean(&self, x: &[f64]) -> Option<Vec<f64>> {
        Some(self.means(x).to_vec())
    }

    fn mass_within(&self, x: &[f64], low: &[f64], high: &[f64]) -> Option<f64> {
        self.law(x).map(|law| law.mass_within(low, high))
    }

    fn law(&self, x: &[f64]) -> Option<Law> {
        Some(Law::Family { family: Family::Normal, mean: self.means(x).to_vec(), std: vec![0.4, 0.4] })
    }
}

/// A row of a log that moves two actions against each other, and is worth more the higher the first, but for both being high.
fn opposed(x: Vec<f64>, r: &mut ChaCha8Rng) -> Row {
    let a = normal(r);
    let b = -0.9 * a + 0.4 * normal(r);
    let y = 0.5 * a - if a > 0.6 && b > 0.6 { 9.0 } else { 0.0 } + 0.3 * normal(r);
    Row { x, a: vec![a, b], p: density(a, 0.0, 1.0) * density(b, -0.9 * a, 0.4), y, cluster: None }
}

/// A log N(.3 x0, .8) whose row i of n is written by `wrong` of the right density, whose outcome follows `level`.
fn with(
    n: usize,
    r: &mut ChaCha8Rng,
    wrong: impl Fn(f64, &[f64], bool) -> f64,
    hidden: f64,
    level: impl Fn(&[f64], bool) -> f64,
) -> Vec<Row> {
    rows(n, r, |_, r| {
        let (x, odd) = (two(r), uniform(r) < hidden);
        let (a, p) = gauss(0.3 * x[0], 0.8, r);
        let (p, y) = (wrong(p, &x, odd), level(&x, odd) + 0.5 * normal(r));
        row(x, (a, p), y)
    })
}

/// What most worlds have in common.
pub(super) const PLAIN: Siege = Siege {
    name: "",
    truth: Truth::NoGain,
    sight: Sight::Open,
    rows: &[300, 1000],
    log: |n, r| rows(n, r, |_, r| row(two(r), gauss(0.0, 1.0, r), normal(r))),
    policy: shifted,
    range: None,
    by_time: false,
};

/// A policy near a log N(.3 x0, .8).
const NEAR: fn() -> Box<dyn TargetPolicy> = || Box::new(Gauss { mean: |x| 0.3 * x[0] + 0.4, std: |_| 0.6 });

/// Every world.
pub(super) const SIEGES: &[Siege] = &[
    // rows that are right, and few where it matters
    Siege {
        name: "harm in 4% of 30 contexts, where the log acts too",
        truth: Truth::Worse,
        log: |n, r| {
            rows(n, r, |_, r| {
                let (x, (a, p)) = (normals(30, r), gauss(0.0, 1.0, r));
                let y = 0.3 * a - if x[0] > 1.7 && a > 0.6 { 20.0 } else { 0.0 } + 0.3 * normal(r);
                row(x, (a, p), y)
            })
        },
        policy: || Box::new(Gauss { mean: |_| 0.8, std: |_| 0.6 }),
        ..PLAIN
    },
    Siege {
        name: "eighty rows, 30 contexts, skewed losses",
        rows: &[80],
        log: |n, r| rows(n, r, |_, r| row(normals(30, r), gauss(0.0, 1.0, r), -exponential(r))),
        policy: || Box::new(Gauss { mean: |x| 0.3 + 0.05 * x[..10].iter().sum::<f64>(), std: |_| 0.8 }),
        ..PLAIN
    },
    Siege {
        name: "losses of tail 1.3, with the context",
        log: |n, r| {
            rows(n, r, |_, r| {
                let x = two(r);
                let y = -x[0].exp() * uniform(r).powf(-1.0 / 1.3);
                row(x, gauss(0.0, 1.0, r), y)
            })
        },
        ..PLAIN
    },
    Siege {
        name: "actions written to one decimal, a narrow policy",
        log: |n, r| {
            rows(n, r, |_, r| {
                let (x, (a, p)) = (two(r), gauss(0.0, 0.6, r));
                let y = x[0] + 0.5 * normal(r);
                row(x, ((10.0 * a).round() / 10.0, p), y)
            })
        },
        policy: || Box::new(Gauss { mean: |_| 0.2, std: |_| 0.1 }),
        ..PLAIN
    },
    Siege {
        name: "log and outcome drift together, densities of the day",
        log: |n, r| {
            rows(n, r, |i, r| {
                let t = i as f64 / n as f64;
                let (a, p) = gauss(t - 0.5, 0.8, r);
                row(two(r), (a, p), 3.0 * t + 0.5 * normal(r))
            })
        },
        ..PLAIN
    },
    Siege {
        name: "a rare loss of half a percent, its range stated",
        truth: Truth::Worse,
        rows: &[250, 1000],
        log: |n, r| {
            rows(n, r, |_, r| {
                let (a, p) = gauss(0.0, 1.0, r);
                let loss = if a > 0.0 { 100.0 * event(0.005, r) } else { 0.0 };
                row(two(r), (a, p), 0.1 * a - loss + 0.1 * normal(r))
            })
        },
        policy: || Box::new(Gauss { mean: |_| 0.8, std: |_| 0.6 }),
        range: Some([-101.0, 2.0]),
        ..PLAIN
    },
    // two actions
    Siege {
        name: "two actions together in 8% of contexts, never so in the log",
        truth: Truth::Worse,
        log: |n, r| rows(n, r, |_, r| opposed(two(r), r)),
        policy: || Box::new(Pair { away: |x| x[0] > 1.4 }),
        ..PLAIN
    },
    Siege {
        name: "two actions together in a checker of 6%, never so in the log",
        truth: Truth::Worse,
        log: |n, r| rows(n, r, |_, r| opposed(normals(4, r), r)),
        policy: || Box::new(Pair { away: |x| x[0] * x[1] * x[2] > 0.0 && x[3].abs() > 1.55 }),
        ..PLAIN
    },
    // rows that belong together
    Siege {
        name: "clusters, one in 25 with ten times the rows",
        log: |n, r| {
            clusters(
                n,
                r,
                |r| if uniform(r) < 0.04 { 80 } else { 8 },
                |habit, level, _, r| {
                    let a = 0.7 * habit + 0.714_142_8 * normal(r);
                    row(two(r), (a, density(a, 0.0, 1.0)), 0.7 * level + 0.7 * normal(r))
                },
            )
        },
        policy: || Box::new(Gauss { mean: |_| 0.4, std: |_| 0.8 }),
        ..PLAIN
    },
    Siege {
        name: "clusters of three whose rows cancel out",
        log: |n, r| {
            clusters(
                n,
                r,
                |_| 3,
                |habit, level, k, r| {
                    let sign = [1.0, -1.0, 0.5][k];
                    let a = sign * 0.8 * habit + (1.0 - 0.64 * sign * sign).sqrt() * normal(r);
                    row(two(r), (a, density(a, 0.0, 1.0)), -sign * level + 0.5 * normal(r))
                },
            )
        },
        ..PLAIN
    },
    Siege { name: "each row five times, shaken by a thousandth", log: |n, r| shaken(n, 1e-3, r), ..PLAIN },
    Siege { name: "each row five times, shaken by a fiftieth", log: |n, r| shaken(n, 0.02, r), ..PLAIN },
    Siege {
        name: "each row five times, shaken, clusters given",
        log: |n, r| {
            shaken(n, 1e-3, r)
                .into_iter()
                .enumerate()
                .map(|(i, row)| Row { cluster: Some(i as u64 / 5), ..row })
                .collect()
        },
        ..PLAIN
    },
    // densities that are wrong in a part of the log
    Siege {
        name: "densities a hundred times too large in a tenth of rows, unmarked",
        log: |n, r| {
            with(n, r, |p, _, odd| if odd { 100.0 * p } else { p }, 0.1, |x, odd| x[0] - if odd { 2.0 } else { 0.0 })
        },
        policy: NEAR,
        ..PLAIN
    },
    Siege {
        name: "densities a hundred times too large in a stratum of a tenth",
        log: |n, r| {
            with(
                n,
                r,
                |p, x, _| if x[1] > 0.8 { 100.0 * p } else { p },
                0.0,
                |x, _| x[0] - if x[1] > 0.8 { 2.0 } else { 0.0 },
            )
        },
        policy: NEAR,
        ..PLAIN
    },
    Siege {
        name: "densities per percent in a stratum of a tenth",
        log: |n, r| {
            with(
                n,
                r,
                |p, x, _| if x[1] > 0.8 { p / 100.0 } else { p },
                0.0,
                |x, _| x[0] + if x[1] > 0.8 { 2.0 } else { 0.0 },
            )
        },
        policy: NEAR,
        ..PLAIN
    },
    Siege {
        name: "another law in a stratum of 16%, densities of the usual one",
        log: |n, r| {
            rows(n, r, |_, r| {
                let x = two(r);
                let odd = x[0] > 1.0;
                let a = if odd { 0.8 + 0.5 * normal(r) } else { normal(r) };
                let y = if odd { 1.5 } else { 0.0 } + 0.5 * normal(r);
                row(x, (a, density(a, 0.0, 1.0)), y)
            })
        },
        ..PLAIN
    },
    Siege { name: "another law in the last quarter of time, densities of the old one", log: stale, ..PLAIN },
    Siege {
        name: "another law in the last quarter of time, densities of the old one, divided by time",
        log: stale,
        by_time: true,
        ..PLAIN
    },
    Siege {
        name: "densities of ln a in a stratum of a fifth",
        log: |n, r| {
            rows(n, r, |_, r| {
                let x = two(r);
                let ln = 0.3 * x[0] + 0.4 * normal(r);
                let p = density(ln, 0.3 * x[0], 0.4);
                let p = if x[1] > 0.6 { p } else { p / ln.exp() };
                let y = x[0] + 2.0 * f64::from(u8::from(x[1] > 0.6)) + 0.5 * normal(r);
                row(x, (ln.exp(), p), y)
            })
        },
        policy: || {
            Box::new(Member(
                Family::LogNormal,
                Gauss { mean: |x| 1.3 * (0.3 * x[0] + 0.08).exp(), std: |x| 0.45 * (0.3 * x[0] + 0.08).exp() },
            ))
        },
        ..PLAIN
    },
    Siege {
        name: "densities of at least .1, harm in the tail",
        truth: Truth::Worse,
        log: |n, r| {
            rows(n, r, |_, r| {
                let (a, p) = gauss(0.0, 1.0, r);
                row(two(r), (a, p.max(0.1)), 0.5 * a - if a > 2.0 { 12.0 } else { 0.0 } + 0.3 * normal(r))
            })
        },
        policy: || Box::new(Gauss { mean: |_| 1.2, std: |_| 0.6 }),
        ..PLAIN
    },
    Siege {
        name: "two policies in turn, densities of the first alone",
        log: |n, r| {
            rows(n, r, |_, r| {
                let (x, first) = (two(r), uniform(r) < 0.5);
                let a = if first { gauss(-0.5 + 0.3 * x[0], 0.5, r).0 } else { gauss(0.8, 0.8, r).0 };
                let p = density(a, -0.5 + 0.3 * x[0], 0.5);
                let y = x[0] + f64::from(u8::from(first)) + 0.5 * normal(r);
                row(x, (a, p), y)
            })
        },
        policy: || Box::new(Gauss { mean: |_| 0.0, std: |_| 0.6 }),
        ..PLAIN
    },
    // outcomes that are not what they seem
    Siege {
        name: "a context that knows the outcome, no gain",
        log: |n, r| {
            rows(n, r, |_, r| {
                let ((a, p), sign) = (gauss(0.0, 1.0, r), if uniform(r) < 0.5 { -1.0 } else { 1.0 });
                let y = a * sign + 0.2 * normal(r);
                row(vec![normal(r), y + 0.2 * normal(r)], (a, p), y)
            })
        },
        policy: || Box::new(Gauss { mean: |x| 0.8 * x[1].max(0.0), std: |_| 0.6 }),
        ..PLAIN
    },
    Siege {
        name: "unhappy rows of high actions leave the log",
        truth: Truth::Worse,
        log: |n, r| {
            let mut kept = Vec::with_capacity(n);
            while kept.len() < n {
                let (x, (a, p)) = (two(r), gauss(0.0, 1.0, r));
                let y = -0.3 * a + normal(r);
                if y > -0.5 || uniform(r) < (-2.0 * a.max(0.0)).exp() {
                    kept.push(row(x, (a, p), y));
                }
            }
            kept
        },
        ..PLAIN
    },
    Siege {
        name: "two policies in turn, densities of both together",
        log: |n, r| in_turn(n, r, |_| 0.0),
        policy: || Box::new(Gauss { mean: |_| 0.2, std: |_| 0.5 }),
        rows: &[300],
        ..PLAIN
    },
    Siege {
        name: "better, two policies in turn, densities of both together",
        truth: Truth::Gain,
        log: |n, r| in_turn(n, r, |a| 0.8 * a),
        policy: || Box::new(Gauss { mean: |_| 0.4, std: |_| 0.5 }),
        rows: &[300],
        ..PLAIN
    },
    Siege {
        name: "better, two actions",
        truth: Truth::Gain,
        log: |n, r| rows(n, r, |_, r| opposed(two(r), r)),
        policy: || Box::new(Pair { away: |_| false }),
        ..PLAIN
    },
    // what no row shows
    Siege {
        name: "hidden: a cause of action and outcome beside right densities",
        sight: Sight::Hidden,
        log: |n, r| {
            rows(n, r, |_, r| {
                let u = normal(r);
                let a = 0.6 * u + 0.8 * normal(r);
                row(two(r), (a, density(a, 0.0, 1.0)), u + 0.3 * normal(r))
            })
        },
        ..PLAIN
    },
    Siege {
        name: "hidden: losses of high actions come too late to be written",
        truth: Truth::Worse,
        sight: Sight::Hidden,
        log: |n, r| {
            rows(n, r, |_, r| {
                let (a, p) = gauss(0.0, 1.0, r);
                let loss = 4.0 * event(0.4 * a.clamp(0.0, 2.0), r) * event((-2.0 * a.max(0.0)).exp(), r);
                row(two(r), (a, p), 0.3 * a - loss + 0.3 * normal(r))
            })
        },
        ..PLAIN
    },
    Siege {
        name: "hidden: what one gains the others of its cluster lose",
        truth: Truth::Worse,
        sight: Sight::Hidden,
        log: |n, r| {
            let mut all = clusters(n, r, |_| 5, |_, _, _, r| row(two(r), gauss(0.0, 1.0, r), 0.3 * normal(r)));
            for group in all.chunk_by_mut(|a, b| a.cluster == b.cluster) {
                let sum: f64 = group.iter().map(|r| r.a[0]).sum();
                group.iter_mut().for_each(|r| r.y += r.a[0] - 0.4 * (sum - r.a[0]));
            }
            all
        },
        ..PLAIN
    },
];

/// Each of n / 5 rows five times, every number but the density moved a little.
fn shaken(n: usize, by: f64, r: &mut ChaCha8Rng) -> Vec<Row> {
    let mut all = Vec::with_capacity(n + 5);
    while all.len() < n {
        let (x, (a, _), y) = (two(r), gauss(0.0, 1.0, r), normal(r));
        for _ in 0..5 {
            let mut near = |v: f64| v + by * normal(r);
            let (x, a, y) = (x.iter().map(|v| near(*v)).collect(), near(a), near(y));
            all.push(row(x, (a, density(a, 0.0, 1.0)), y));
        }
    }
    all
}

/// A log of two policies in turn, each row with the density of both together.
fn in_turn(n: usize, r: &mut ChaCha8Rng, worth: fn(f64) -> f64) -> Vec<Row> {
    rows(n, r, |_, r| {
        let x = vec![normal(r), normal(r)];
        let (first, second) = ((-0.5 + 0.3 * x[0], 0.5), (0.8, 0.8));
        let (mean, std) = if uniform(r) < 0.5 { first } else { second };
        let a = mean + std * normal(r);
        let p = 0.5 * (density(a, first.0, first.1) + density(a, second.0, second.1));
        let y = worth(a) + 0.5 * x[0] + 0.5 * normal(r);
        row(x, (a, p), y)
    })
}

/// A log whose policy changed for the last quarter of the time, with the densities of the old one; outcomes rise with it.
fn stale(n: usize, r: &mut ChaCha8Rng) -> Vec<Row> {
    rows(n, r, |i, r| {
        let late = 4 * i >= 3 * n;
        let a = if late { 0.6 + 0.7 * normal(r) } else { normal(r) };
        row(two(r), (a, density(a, 0.0, 1.0)), f64::from(u8::from(late)) + 0.5 * normal(r))
    })
}
