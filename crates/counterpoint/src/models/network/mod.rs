//! A small network: the cost as a smooth function of contexts and action.

mod inputs;
mod layers;

use super::Rows;
use super::order::{Ordered, share};
use super::rounds::Watch;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::rng::{Purpose, stream};
use inputs::Inputs;
use layers::{Adam, LANES, Layers, TILE, Work};

pub use layers::Activation;
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// How a network is fitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkOptions {
    /// Neurons of each hidden layer, multiples of 16.
    pub hidden: Vec<usize>,
    /// What a neuron makes of its sum.
    pub activation: Activation,
    /// Networks whose mean is taken; each has its own start and its own held-out rows.
    pub members: usize,
    /// Passes over the rows at most.
    pub epochs: usize,
    /// Steps at least, where rows are few.
    pub steps: usize,
    /// The first step length; it falls to 0 along a line.
    pub rate: f64,
    /// Weight decay.
    pub decay: f64,
    /// The share of the rows on which the number of passes is found; 0 does all of them.
    pub held: f64,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        NetworkOptions {
            hidden: vec![64, 32],
            activation: Activation::Tanh,
            members: 2,
            epochs: 40,
            steps: 2000,
            rate: 0.005,
            decay: 0.1,
            held: 0.15,
        }
    }
}

impl NetworkOptions {
    /// A network held smooth by its decay: for noisy outcomes, where its error is below that of the defaults.
    pub fn smooth() -> Self {
        NetworkOptions { decay: 0.3, ..NetworkOptions::default() }
    }

    /// A network that may bend sharply: straight pieces in three layers, hardly any decay, longer steps. For steps and kinks behind little noise.
    pub fn sharp() -> Self {
        let hidden = vec![64, 32, 32];
        NetworkOptions { hidden, activation: Activation::Relu, rate: 0.01, decay: 0.01, ..NetworkOptions::default() }
    }

    /// Rows that one network sees in all its passes over `rows` rows together.
    pub(crate) fn visits(&self, rows: usize) -> usize {
        let kept = rows - share(rows, self.held);
        self.passes(kept) * kept
    }

    fn passes(&self, kept: usize) -> usize {
        self.epochs.max(self.steps.div_ceil(kept.div_ceil(batch(kept)).max(1)))
    }

    /// Refuses options outside their ranges.
    pub fn check(&self) -> Result<()> {
        let largest = self.hidden.iter().copied().max().unwrap_or(0) as f64;
        let smallest = self.hidden.iter().copied().min().unwrap_or(0) as f64;
        let ranges = [
            ("hidden", largest, 1.0, 4096.0),
            ("hidden", smallest, 1.0, 4096.0),
            ("hidden", self.hidden.len() as f64, 1.0, 4.0),
            ("members", self.members as f64, 1.0, 100.0),
            ("epochs", self.epochs as f64, 1.0, 1e5),
            ("steps", self.steps as f64, 0.0, 1e7),
            ("rate", self.rate, 1e-8, 1.0),
            ("decay", self.decay, 0.0, 100.0),
            ("held", self.held, 0.0, 0.9),
        ];
        if self.hidden.iter().any(|h| h % LANES != 0) {
            return Err(Error::recipe("hidden", format!("{:?} are not multiples of {LANES}", self.hidden)));
        }
        super::within(&ranges)
    }
}

/// The mean of a few small networks on contexts and action.
///
/// ```text
/// q(x, a) = offset + scale mean_m f_m(x', a', a'^2 - 1),   f = v sigma(W_2 sigma(W_1 . + b_1) + b_2) + u . + c
/// ```
///
/// x' and a' are standardised, with outliers drawn in; a missing context is 0 beside a mark. Costs have no unit inside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostNetwork {
    offset: f64,
    scale: f64,
    inputs: Inputs,
    hidden: Vec<usize>,
    #[serde(default)]
    activation: Activation,
    /// Weights of each network, layer by layer.
    members: Vec<Vec<f32>>,
}

impl CostNetwork {
    /// Fits networks to these rows.
    pub fn fit(rows: &Rows, options: &NetworkOptions, seed: u64, engine: &Engine) -> Result<CostNetwork> {
        options.check()?;
        let ordered = Ordered::new(rows, seed)?;
        let inputs = Inputs::learn(rows, &ordered);
        let table = Table::new(rows, &ordered, &inputs);
        let layers = Layers { inputs: inputs.len(), hidden: options.hidden.clone(), activation: options.activation };
        let numbers: Vec<u64> = (0..options.members as u64).collect();
        let members = engine.map(&numbers, |m| train(&table, &layers, options, seed, *m));
        let found = CostNetwork {
            offset: ordered.cost.centre,
            scale: ordered.cost.scale,
            inputs,
            hidden: options.hidden.clone(),
            activation: options.activation,
            members,
        };
        if found.members.iter().flatten().any(|v| !v.is_finite()) {
            return Err(Error::numeric("network of a cost model", "the weights are no longer finite")
                .hint("a smaller rate keeps them so"));
        }
        Ok(found)
    }

    /// The cost of action a in context x.
    pub fn at(&self, x: &[f64], a: f64) -> f64 {
        let mut out = [0.0];
        self.at_knots(x, &[a], &mut out);
        out[0]
    }

    /// The costs of several actions in context x: the contexts' share of the first layer is computed once.
    pub fn at_knots(&self, x: &[f64], knots: &[f64], out: &mut [f64]) {
        let layers = self.layers();
        let mut work = layers.forward_work(knots.len());
        let contexts: Vec<f32> = self.inputs.contexts(x).collect();
        for (row, a) in work.h[0].chunks_exact_mut(layers.inputs).zip(knots) {
            row[..contexts.len()].copy_from_slice(&contexts);
            row[contexts.len()..].copy_from_slice(&self.inputs.action(*a));
        }
        out.fill(0.0);
        for theta in &self.members {
            first_sums(theta, &layers, contexts.len(), &mut work);
            layers.forward_from_sums(theta, &mut work);
            out.iter_mut().zip(&work.f).for_each(|(o, f)| *o += f64::from(*f));
        }
        let scale = self.scale / self.members.len() as f64;
        out.iter_mut().for_each(|o| *o = self.offset + scale * *o);
    }

    fn layers(&self) -> Layers {
        Layers { inputs: self.inputs.len(), hidden: self.hidden.clone(), activation: self.activation }
    }

    /// Refuses a model that was damaged, or made for another number of contexts.
    pub fn check(&self, d: usize) -> Result<()> {
        let damaged = |what: &str| {
            Err(Error::policy(what).at("network of a cost model").hint("the file is damaged: write it again"))
        };
        let Inputs { contexts, missing, codes, action } = &self.inputs;
        if contexts.len() != d || missing.iter().any(|j| *j as usize >= d) || codes.iter().any(|c| !c.sound(d)) {
            return damaged("it was made for other contexts");
        }
        if self.hidden.is_empty() || self.hidden.iter().any(|h| *h == 0 || h % LANES != 0 || *h > 4096) {
            return damaged("a hidden layer without neurons, or with too many");
        }
        let numbers = self.layers().numbers();
        if self.members.is_empty() || self.members.iter().any(|m| m.len() != numbers) {
            return damaged("weights are missing");
        }
        let finite = self.members.iter().flatten().all(|v| v.is_finite());
        if !finite
            || !self.offset.is_finite()
            || !self.scale.is_finite()
            || !contexts.iter().chain([action]).all(|i| i.sound())
        {
            return damaged("a number that is not finite, or a scale below 0");
        }
        Ok(())
    }
}

/// The first layer's sums for one context and several actions.
fn first_sums(theta: &[f32], layers: &Layers, contexts: usize, work: &mut Work) {
    let (from, to) = (layers.inputs, layers.hidden[0]);
    let (inputs, after) = work.h.split_at_mut(1);
    let mut shared = theta[from * to..(from + 1) * to].to_vec();
    for (w, x) in theta.chunks_exact(to).zip(&inputs[0][..contexts.min(inputs[0].len())]) {
        shared.iter_mut().zip(w).for_each(|(s, w)| *s += x * w);
    }
    let (w1, w2) = theta[contexts * to..(contexts + 2) * to].split_at(to);
    for (z, row) in after[0].chunks_exact_mut(to).zip(inputs[0].chunks_exact(from)) {
        let (a, square) = (row[contexts], row[contexts + 1]);
        for (((z, s), w1), w2) in z.iter_mut().zip(&shared).zip(w1).zip(w2) {
            *z = s + a * w1 + square * w2;
        }
    }
}

/// Rows as a network sees them.
struct Table {
    /// Inputs, row by row.
    inputs: Vec<f32>,
    width: usize,
    y: Vec<f32>,
    omega: Vec<f32>,
}

impl Table {
    fn new(rows: &Rows, ordered: &Ordered, inputs: &Inputs) -> Table {
        let mut seen = Vec::with_capacity(ordered.len() * inputs.len());
        for i in &ordered.row {
            seen.extend(inputs.contexts(rows.context(*i as usize)));
            seen.extend(inputs.action(rows.a[*i as usize]));
        }
        Table {
            inputs: seen,
            width: inputs.len(),
            y: ordered.y.iter().map(|v| *v as f32).collect(),
            omega: ordered.omega.iter().map(|v| *v as f32).collect(),
        }
    }

    /// Puts rows into a batch; places that are left over keep what they held.
    fn gather(&self, rows: &[u32], work: &mut Work) {
        for (into, i) in work.h[0].chunks_exact_mut(self.width).zip(rows) {
            let i = *i as usize;
            into.copy_from_slice(&self.inputs[i * self.width..(i + 1) * self.width]);
        }
    }
}

/// Rows of a step.
fn batch(rows: usize) -> usize {
    (rows / 60).next_multiple_of(TILE).clamp(16, 32)
}

/// One network: Adam on batches in a seeded order, the pass with the least loss on its held-out rows.
fn train(table: &Table, layers: &Layers, options: &NetworkOptions, seed: u64, member: u64) -> Vec<f32> {
    let n = table.y.len();
    let held = share(n, options.held);
    // each member holds out another stretch of the (hashed) order
    let start = (member as usize * held) % n;
    let mut rows: Vec<u32> = (0..n).map(|i| ((start + i) % n) as u32).collect();
    let kept = rows.split_off(held);
    let (watched, mut rows) = (rows, kept);
    let batch = batch(rows.len());
    let batches = rows.len().div_ceil(batch);
    let epochs = options.passes(rows.len());
    let mut rng = stream(seed, Purpose::Network, member);
    let mut theta = first_weights(layers, &mut rng);
    let mut work = layers.work(batch);
    let mut grad = vec![0.0; theta.len()];
    let mut adam = Adam::new(theta.len());
    let mut watch = Watch::new(f64::INFINITY);
    let mut best = theta.clone();
    for epoch in 0..epochs {
        shuffle(&mut rows, &mut rng);
        for b in 0..batches {
            let own = &rows[b * batch..((b + 1) * batch).min(rows.len())];
            let step = epoch * batches + b;
            slopes(table, layers, &theta, own, &mut work, &mut grad);
            let left = 1.0 - step as f64 / (epochs * batches) as f64;
            adam.step(&mut theta, &grad, (options.rate * left) as f32, options.decay as f32);
        }
        if held > 0 {
            watch.tired(epoch + 1, loss(table, layers, &theta, &watched, &mut work), usize::MAX / 2);
            if watch.best == epoch + 1 {
                best.copy_from_slice(&theta);
            }
        }
    }
    if held > 0 { best } else { theta }
}

/// The slope of the mean squared error of these rows.
fn slopes(table: &Table, layers: &Layers, theta: &[f32], rows: &[u32], work: &mut Work, grad: &mut [f32]) {
    table.gather(rows, work);
    layers.forward(theta, work);
    let per_row = 1.0 / rows.len() as f32;
    work.slope.fill(0.0);
    for ((s, f), i) in work.slope.iter_mut().zip(&work.f).zip(rows) {
        *s = per_row * table.omega[*i as usize] * (f - table.y[*i as usize]);
    }
    layers.backward(theta, work, grad);
}

fn loss(table: &Table, layers: &Layers, theta: &[f32], rows: &[u32], work: &mut Work) -> f64 {
    let batch = work.f.len();
    let mut sum = 0.0;
    for own in rows.chunks(batch) {
        table.gather(own, work);
        layers.forward(theta, work);
        for (f, i) in work.f.iter().zip(own) {
            let e = f64::from(f - table.y[*i as usize]);
            sum += f64::from(table.omega[*i as usize]) * e * e;
        }
    }
    sum
}

fn shuffle(rows: &mut [u32], rng: &mut impl RngExt) {
    for i in (1..rows.len()).rev() {
        rows.swap(i, rng.random_range(0..=i));
    }
}

/// Uniform weights whose sums have variance about 1; the last layer and the straight share begin at 0.
fn first_weights(layers: &Layers, rng: &mut impl RngExt) -> Vec<f32> {
    let mut theta = Vec::with_capacity(layers.numbers());
    let mut from = layers.inputs;
    for &to in &layers.hidden {
        let width = (3.0 / from as f64).sqrt();
        theta.extend((0..from * to).map(|_| (width * (2.0 * rng.random::<f64>() - 1.0)) as f32));
        theta.resize(theta.len() + to, 0.0);
        from = to;
    }
    theta.resize(layers.numbers(), 0.0);
    theta
}
