//! Laws of the cost models.

use super::*;
use crate::engine::Engine;
use crate::rng::hash;

/// A uniform number in (0, 1) for (row, column).
fn uniform(i: usize, j: usize) -> f64 {
    (hash(j as u64 + 17, i as u64) >> 11) as f64 / (1u64 << 53) as f64
}

/// Columns of a regression, owned.
struct Columns {
    d: usize,
    x: Vec<f64>,
    a: Vec<f64>,
    y: Vec<f64>,
    omega: Vec<f64>,
}

impl Columns {
    fn new(n: usize, d: usize, cost: impl Fn(&[f64], f64) -> f64) -> Columns {
        let x: Vec<f64> = (0..n * d).map(|k| 2.0 * uniform(k / d, k % d) - 1.0).collect();
        let a: Vec<f64> = (0..n).map(|i| 4.0 * uniform(i, 100) - 2.0).collect();
        let noise = |i: usize| uniform(i, 101) + uniform(i, 102) - 1.0;
        let y = (0..n).map(|i| cost(&x[i * d..(i + 1) * d], a[i]) + 0.2 * noise(i)).collect();
        Columns { d, x, a, y, omega: vec![1.0; n] }
    }

    fn rows(&self) -> Rows<'_> {
        Rows { d: self.d, x: &self.x, a: &self.a, y: &self.y, omega: &self.omega }
    }

    fn map_costs(&self, f: impl Fn(f64) -> f64) -> Columns {
        Columns {
            d: self.d,
            x: self.x.clone(),
            a: self.a.clone(),
            y: self.y.iter().map(|v| f(*v)).collect(),
            omega: self.omega.clone(),
        }
    }

    /// The same rows, the last first.
    fn reversed(&self) -> Columns {
        let back = |v: &[f64]| v.iter().rev().copied().collect::<Vec<_>>();
        let x = self.x.chunks_exact(self.d).rev().flatten().copied().collect();
        Columns { d: self.d, x, a: back(&self.a), y: back(&self.y), omega: back(&self.omega) }
    }
}

/// What all cost models can do, for tests that run over all of them.
trait Model: Sized + PartialEq + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned {
    fn fit(rows: &Rows, engine: &Engine) -> Result<Self>;
    fn at(&self, x: &[f64], a: f64) -> f64;
    fn at_knots(&self, x: &[f64], knots: &[f64], out: &mut [f64]);
    fn check(&self, d: usize) -> Result<()>;
}

macro_rules! model {
    ($name:ident, $options:expr) => {
        impl Model for $name {
            fn fit(rows: &Rows, engine: &Engine) -> Result<Self> {
                $name::fit(rows, &$options, 7, engine)
            }
            fn at(&self, x: &[f64], a: f64) -> f64 {
                $name::at(self, x, a)
            }
            fn at_knots(&self, x: &[f64], knots: &[f64], out: &mut [f64]) {
                $name::at_knots(self, x, knots, out)
            }
            fn check(&self, d: usize) -> Result<()> {
                $name::check(self, d)
            }
        }
    };
}

model!(Trees, TreeOptions::default());
model!(ActionTrees, TreeOptions::smooth());
model!(CostNetwork, NetworkOptions { hidden: vec![32, 16], epochs: 20, ..NetworkOptions::default() });

impl Model for Index {
    fn fit(rows: &Rows, _: &Engine) -> Result<Self> {
        Index::fit(rows, &Index::choose(rows, 7)?, 7)
    }
    fn at(&self, x: &[f64], a: f64) -> f64 {
        Index::at(self, x, a)
    }
    fn at_knots(&self, x: &[f64], knots: &[f64], out: &mut [f64]) {
        Index::at_knots(self, x, knots, out)
    }
    fn check(&self, d: usize) -> Result<()> {
        Index::check(self, d)
    }
}

/// Runs a law for every model.
macro_rules! every_model {
    ($law:ident) => {
        $law::<Index>();
        $law::<Trees>();
        $law::<ActionTrees>();
        $law::<CostNetwork>();
    };
}

fn step(x: &[f64], a: f64) -> f64 {
    if x[0] > 0.3 { f64::from(u8::from(a > 0.5)) } else { 1.0 - f64::from(u8::from(a > -0.5)) }
}

fn smooth(x: &[f64], a: f64) -> f64 {
    (a - x[0] - 0.5 * x[1] * x[1]).powi(2)
}

/// Root mean squared distance from the truth on a grid.
fn distance<M: Model>(model: &M, d: usize, truth: impl Fn(&[f64], f64) -> f64) -> f64 {
    let mut sum = 0.0;
    for i in 0..400 {
        let x: Vec<f64> = (0..d).map(|j| 1.8 * uniform(i, 50 + j) - 0.9).collect();
        let a = 3.6 * uniform(i, 70) - 1.8;
        sum += (model.at(&x, a) - truth(&x, a)).powi(2);
    }
    (sum / 400.0).sqrt()
}

#[test]
fn a_step_and_a_smooth_function_are_found() {
    let engine = Engine::single();
    let (steps, curves) = (Columns::new(3000, 2, step), Columns::new(3000, 2, smooth));
    let trees = Trees::fit(&steps.rows(), &TreeOptions::default(), 1, &engine).unwrap();
    assert!(distance(&trees, 2, step) < 0.1, "{}", distance(&trees, 2, step));
    let trees = Trees::fit(&curves.rows(), &TreeOptions::default(), 1, &engine).unwrap();
    assert!(distance(&trees, 2, smooth) < 0.2, "{}", distance(&trees, 2, smooth));
    let trees = ActionTrees::fit(&curves.rows(), &TreeOptions::smooth(), 1, &engine).unwrap();
    assert!(distance(&trees, 2, smooth) < 0.1, "{}", distance(&trees, 2, smooth));
    let network = CostNetwork::fit(&curves.rows(), &NetworkOptions::default(), 1, &engine).unwrap();
    assert!(distance(&network, 2, smooth) < 0.06, "{}", distance(&network, 2, smooth));
}

/// Codes without an order, an edge in the action whose place is a sum of what they mean: the marks of the levels find it.
#[test]
fn a_network_learns_what_codes_mean() {
    let edges = [0.9, -1.0, 0.3, -0.5, 1.1, 0.0, -0.8];
    let mut columns = Columns::new(4000, 2, |_, _| 0.0);
    for i in 0..4000 {
        let level = (7.0 * uniform(i, 60)) as usize;
        columns.x[2 * i] = 100.0 - 3.0 * level as f64;
        columns.y[i] += f64::from(u8::from(columns.a[i] > edges[level]));
    }
    let model = CostNetwork::fit(&columns.rows(), &NetworkOptions::sharp(), 1, &Engine::single()).unwrap();
    for (level, edge) in edges.iter().enumerate() {
        let x = [100.0 - 3.0 * level as f64, 0.2];
        assert!(model.at(&x, edge - 0.3) < 0.3 && model.at(&x, edge + 0.3) > 0.7, "level {level}");
    }
    // a code that was never seen counts as the nearest among the marks
    assert!((model.at(&[100.2, 0.2], 1.2) - model.at(&[100.0, 0.2], 1.2)).abs() < 0.1);
    let mut bad = serde_json::to_value(&model).unwrap();
    bad["inputs"]["codes"][0]["context"] = 2.into();
    assert!(serde_json::from_value::<CostNetwork>(bad).unwrap().check(2).is_err(), "a code that is not there");
}

/// A kink whose place is a sum of forty contexts, 800 rows: one number says where it lies, and where it lies is nearly all that matters.
#[test]
fn an_index_finds_a_kink_that_moves_with_forty_contexts() {
    let place = |x: &[f64]| x.iter().enumerate().map(|(j, v)| if j % 2 == 0 { 0.2 * v } else { -0.2 * v }).sum::<f64>();
    let kink = |x: &[f64], a: f64| (a - place(x)).abs();
    let columns = Columns::new(800, 40, kink);
    let index = <Index as Model>::fit(&columns.rows(), &Engine::single()).unwrap();
    assert!(distance(&index, 40, kink) < 0.1, "{}", distance(&index, 40, kink));
    let network = CostNetwork::fit(&columns.rows(), &NetworkOptions::sharp(), 1, &Engine::single()).unwrap();
    assert!(distance(&network, 40, kink) > 2.0 * distance(&index, 40, kink), "{}", distance(&network, 40, kink));
}

/// A price earns itself times a demand that falls faster for some: the curve grows with the number and moves with it.
#[test]
fn an_index_has_curves_that_grow() {
    let earned = |x: &[f64], a: f64| (1.0 + 0.5 * x[0]) * (a - 0.6 * x[0]).cos() + 0.3 * x[1];
    let columns = Columns::new(3000, 3, earned);
    let index = <Index as Model>::fit(&columns.rows(), &Engine::single()).unwrap();
    assert!(distance(&index, 3, earned) < 0.06, "{}", distance(&index, 3, earned));
}

#[test]
fn a_damaged_index_is_refused() {
    let index = <Index as Model>::fit(&Columns::new(200, 2, smooth).rows(), &Engine::single()).unwrap();
    let good = serde_json::to_value(&index).unwrap();
    type Damage = fn(&mut serde_json::Value);
    let damages: [(&str, Damage); 7] = [
        ("a coefficient too few", |v| drop(v["main"].as_array_mut().unwrap().pop())),
        ("a weight too many", |v| v["along"].as_array_mut().unwrap().push(1.0.into())),
        ("half a curve", |v| v["curves"].as_array_mut().unwrap().truncate(12)),
        ("a range that ends where it begins", |v| v["range"][1] = v["range"][0].clone()),
        ("a column without size", |v| v["columns"][0][1] = 0.0.into()),
        ("an action without unit", |v| v["action"][1] = (-1.0).into()),
        ("a column too few", |v| drop(v["columns"].as_array_mut().unwrap().pop())),
    ];
    for (what, damage) in damages {
        let mut bad = good.clone();
        damage(&mut bad);
        assert_ne!(bad, good, "{what}");
        assert!(serde_json::from_value::<Index>(bad).unwrap().check(2).is_err(), "{what}");
    }
    assert!(Index::choose(&Columns::new(30, 9, smooth).rows(), 1).is_err(), "three rows per context");
}

/// Straight pieces follow a kink more closely than a smooth curve of the same size.
#[test]
fn a_kink_is_found_by_straight_pieces() {
    let kink = |x: &[f64], a: f64| (a - x[0]).abs();
    let columns = Columns::new(3000, 2, kink);
    let options = NetworkOptions { activation: Activation::Relu, ..NetworkOptions::sharp() };
    let network = CostNetwork::fit(&columns.rows(), &options, 1, &Engine::single()).unwrap();
    assert!(distance(&network, 2, kink) < 0.06, "{}", distance(&network, 2, kink));
}

/// Eight rows, one context: the best cut is at 0.5, leaves are G / (H + l2) with costs of mean 0 and deviation 1.
#[test]
fn a_tree_can_be_worked_out_by_hand() {
    let x = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0];
    let y = [3.0, 3.0, 3.0, 3.0, 7.0, 7.0, 7.0, 7.0];
    let rows = Rows { d: 1, x: &x, a: &[0.0; 8], y: &y, omega: &[1.0; 8] };
    let options = TreeOptions { rounds: 1, rate: 1.0, min_rows: 1.0, l2: 1.0, held: 0.0, ..TreeOptions::default() };
    let trees = Trees::fit(&rows, &options, 0, &Engine::single()).unwrap();
    // mean 5, deviation 2: slopes +-1, so a leaf is +-4 / (4 + 1)
    assert!((trees.at(&[0.4], 0.0) - (5.0 - 2.0 * 0.8)).abs() < 1e-6);
    assert!((trees.at(&[0.6], 0.0) - (5.0 + 2.0 * 0.8)).abs() < 1e-6);
    assert_eq!(trees.rounds(), 1);
}

#[test]
fn missing_contexts_go_to_the_side_that_was_learned() {
    let mut columns = Columns::new(2000, 2, |x, _| 2.0 * f64::from(u8::from(x[0] > 0.0)));
    for i in 0..2000 {
        if columns.y[i] > 1.0 && i % 3 == 0 {
            columns.x[2 * i] = f64::NAN;
        }
    }
    let engine = Engine::single();
    let trees = Trees::fit(&columns.rows(), &TreeOptions::default(), 1, &engine).unwrap();
    assert!((trees.at(&[f64::NAN, 0.0], 0.0) - 2.0).abs() < 0.1);
    let network = CostNetwork::fit(&columns.rows(), &NetworkOptions::default(), 1, &engine).unwrap();
    assert!((network.at(&[f64::NAN, 0.0], 0.0) - 2.0).abs() < 0.2);
}

#[test]
fn all_knots_at_once_are_the_knots_one_by_one() {
    fn law<M: Model>() {
        let columns = Columns::new(800, 3, smooth);
        let model = M::fit(&columns.rows(), &Engine::single()).unwrap();
        let knots: Vec<f64> = (0..41).map(|k| -2.5 + 0.125 * f64::from(k)).collect();
        let mut out = vec![f64::NAN; knots.len()];
        for i in 0..50 {
            let mut x = columns.rows().context(i).to_vec();
            if i % 5 == 0 {
                x[1] = f64::NAN;
            }
            model.at_knots(&x, &knots, &mut out);
            for (k, q) in knots.iter().zip(&out) {
                assert_eq!(*q, model.at(&x, *k), "row {i}, knot {k}");
            }
        }
    }
    every_model!(law);
}

#[test]
fn units_of_the_cost_do_not_matter() {
    fn law<M: Model>() {
        let columns = Columns::new(700, 2, smooth);
        let model = M::fit(&columns.rows(), &Engine::single()).unwrap();
        for (c, d) in [(1e-5, 0.0), (3.0, 40.0), (1e6, -2e7)] {
            let other = M::fit(&columns.map_costs(|y| c * y + d).rows(), &Engine::single()).unwrap();
            for i in 0..40 {
                let (x, a) = (columns.rows().context(i), columns.a[i]);
                let (is, should) = (other.at(x, a), c * model.at(x, a) + d);
                assert!((is - should).abs() <= 1e-9 * (c + should.abs()), "{is} {should}");
            }
        }
    }
    every_model!(law);
}

#[test]
fn units_of_contexts_and_actions_do_not_matter() {
    fn law<M: Model>() {
        let columns = Columns::new(700, 2, smooth);
        let model = M::fit(&columns.rows(), &Engine::single()).unwrap();
        let (fx, fa) = (|v: f64| 250.0 * v - 3.0, |v: f64| 0.01 * v + 8.0);
        let other = Columns {
            d: 2,
            x: columns.x.iter().map(|v| fx(*v)).collect(),
            a: columns.a.iter().map(|v| fa(*v)).collect(),
            y: columns.y.clone(),
            omega: columns.omega.iter().map(|w| 5.0 * w).collect(),
        };
        let changed = M::fit(&other.rows(), &Engine::single()).unwrap();
        for i in 0..40 {
            let (is, should) =
                (changed.at(other.rows().context(i), other.a[i]), model.at(columns.rows().context(i), columns.a[i]));
            assert!((is - should).abs() < 1e-6, "{is} {should}");
        }
    }
    every_model!(law);
}

#[test]
fn the_order_of_the_rows_does_not_matter() {
    fn law<M: Model>() {
        let columns = Columns::new(700, 2, smooth);
        let model = M::fit(&columns.rows(), &Engine::single()).unwrap();
        let other = M::fit(&columns.reversed().rows(), &Engine::single()).unwrap();
        let (x, a) = (columns.rows().context(3), columns.a[3]);
        assert!((model.at(x, a) - other.at(x, a)).abs() < 1e-9);
    }
    every_model!(law);
}

#[test]
fn threads_change_no_bit() {
    fn law<M: Model>() {
        let columns = Columns::new(12_000, 6, smooth);
        let one = M::fit(&columns.rows(), &Engine::single()).unwrap();
        for threads in [2, 3] {
            assert_eq!(M::fit(&columns.rows(), &Engine::new(threads).unwrap()).unwrap(), one);
        }
    }
    every_model!(law);
}

#[test]
fn a_file_gives_the_model_back_bit_by_bit() {
    fn law<M: Model>() {
        let model = M::fit(&Columns::new(500, 2, smooth).rows(), &Engine::single()).unwrap();
        let text = serde_json::to_string(&model).unwrap();
        let back: M = serde_json::from_str(&text).unwrap();
        assert_eq!(back, model);
        back.check(2).unwrap();
        assert!(back.check(3).is_err(), "another number of contexts");
    }
    every_model!(law);
}

#[test]
fn constant_costs_give_a_constant() {
    fn law<M: Model>() {
        let columns = Columns::new(200, 2, smooth).map_costs(|_| 0.1);
        let model = M::fit(&columns.rows(), &Engine::single()).unwrap();
        assert!((model.at(&[0.0, 0.0], 1.0) - 0.1).abs() < 1e-12);
        model.check(2).unwrap();
    }
    every_model!(law);
}

/// Files in which one number was changed.
#[test]
fn damaged_trees_are_refused() {
    let trees =
        Trees::fit(&Columns::new(500, 2, smooth).rows(), &TreeOptions::default(), 1, &Engine::single()).unwrap();
    let good = serde_json::to_value(&trees).unwrap();
    type Damage = fn(&mut serde_json::Value);
    let damages: [(&str, Damage); 8] = [
        ("a cycle", |v| v["forest"]["child"][2] = 1.into()),
        ("a child outside", |v| v["forest"]["child"][0] = 1_000_000.into()),
        ("a feature that is not there", |v| v["forest"]["feature"][0] = 99.into()),
        ("an edge that is not there", |v| v["forest"]["cut"][0] = 255.into()),
        ("edges that fall", |v| v["forest"]["bins"][0][0] = 1e9.into()),
        ("a leaf too few", |v| drop(v["values"].as_array_mut().unwrap().pop())),
        ("a root behind the end", |v| v["forest"]["roots"][1] = 1_000_000.into()),
        ("no nodes", |v| v["forest"]["child"] = serde_json::json!([])),
    ];
    for (what, damage) in damages {
        let mut bad = good.clone();
        damage(&mut bad);
        assert_ne!(bad, good, "{what}");
        let bad: Trees = serde_json::from_value(bad).unwrap();
        assert!(bad.check(2).is_err(), "{what} was not noticed");
    }
}

#[test]
fn damaged_networks_are_refused() {
    let columns = Columns::new(200, 2, smooth);
    let network = <CostNetwork as Model>::fit(&columns.rows(), &Engine::single()).unwrap();
    let good = serde_json::to_value(&network).unwrap();
    type Damage = fn(&mut serde_json::Value);
    let damages: [(&str, Damage); 6] = [
        ("a layer of no known width", |v| v["hidden"][0] = 9.into()),
        ("a weight too few", |v| drop(v["members"][0].as_array_mut().unwrap().pop())),
        ("no networks", |v| v["members"] = serde_json::json!([])),
        ("no neurons", |v| v["hidden"] = serde_json::json!([])),
        ("a mark of a context that is not there", |v| v["inputs"]["missing"] = serde_json::json!([2])),
        ("a scale below 0", |v| v["inputs"]["action"]["scale"] = (-1.0).into()),
    ];
    for (what, damage) in damages {
        let mut bad = good.clone();
        damage(&mut bad);
        let bad: CostNetwork = serde_json::from_value(bad).unwrap();
        assert!(bad.check(2).is_err(), "{what} was not noticed");
    }
}

#[test]
fn rows_that_make_no_sense_are_refused() {
    let fit = |rows: Rows| Trees::fit(&rows, &TreeOptions::default(), 1, &Engine::single()).is_err();
    let (x, v) = ([0.0, 1.0], [1.0, 2.0]);
    assert!(fit(Rows { d: 1, x: &x, a: &v[..1], y: &v, omega: &v }), "an action too few");
    assert!(fit(Rows { d: 2, x: &x, a: &v, y: &v, omega: &v }), "contexts too few");
    assert!(fit(Rows { d: 1, x: &x, a: &v, y: &[1.0, f64::NAN], omega: &v }), "a cost that is no number");
    assert!(fit(Rows { d: 1, x: &x, a: &v, y: &v, omega: &[0.0, 0.0] }), "no weight");
    assert!(fit(Rows { d: 1, x: &x, a: &v, y: &v, omega: &[1.0, -1.0] }), "a weight below 0");
    assert!(fit(Rows { d: 1, x: &[], a: &[], y: &[], omega: &[] }), "no rows");
}

/// Rows of weight 0 might as well not be there.
#[test]
fn rows_without_weight_do_not_count() {
    let mut columns = Columns::new(600, 2, smooth);
    let half = Columns {
        d: 2,
        x: columns.x[..600].to_vec(),
        a: columns.a[..300].to_vec(),
        y: columns.y[..300].to_vec(),
        omega: vec![1.0; 300],
    };
    columns.omega[300..].fill(0.0);
    let trees = |c: &Columns| {
        Trees::fit(&c.rows(), &TreeOptions { held: 0.0, rounds: 20, ..TreeOptions::default() }, 1, &Engine::single())
            .unwrap()
    };
    let x = [0.3, 0.2];
    assert!((trees(&columns).at(&x, 0.4) - trees(&half).at(&x, 0.4)).abs() < 1e-6);
}
