//! A question of your own, asked of a log on all cores: the mean reward by tenths of the action.
//!
//! A fold says what no rows answer, how a block of rows is added, and how two answers are merged. The engine merges in a fixed
//! binary tree over blocks, so the answer does not depend on the number of threads, nor on where a log is cut.
//!
//! ```text
//! cargo run --release --example own_fold
//! ```

#![allow(missing_docs, clippy::print_stdout)]

use counterpoint::data::Block;
use counterpoint::engine::Fold;
use counterpoint::{Engine, Log, Result};
use serde::{Deserialize, Serialize};

/// The question: where the tenths begin and end. It can be written down and sent to wherever the blocks are.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct ByAction {
    low: f64,
    high: f64,
}

/// Per tenth: weight of the rows, and sum of their costs (inside there are costs: a reward is a negative one).
type Tenths = [[f64; 2]; 10];

impl Fold<Block> for ByAction {
    type Partial = Tenths;

    fn zero(&self) -> Tenths {
        [[0.0; 2]; 10]
    }

    fn add(&self, block: &Block, into: &mut Tenths) {
        for i in 0..block.rows() {
            let share = (block.a[0][i] - self.low) / (self.high - self.low);
            let tenth = &mut into[((10.0 * share) as usize).min(9)];
            tenth[0] += block.omega[i];
            tenth[1] += block.omega[i] * block.y[i];
        }
    }

    fn merge(&self, other: &Tenths, into: &mut Tenths) {
        into.iter_mut().flatten().zip(other.iter().flatten()).for_each(|(a, b)| *a += b);
    }
}

fn main() -> Result<()> {
    let n = 50_000;
    let price: Vec<f64> = (0..n).map(|i| 3.0 * (f64::from(i) * 0.569_840_291).fract()).collect();
    let reward = price.iter().map(|a| 1.0 - (a - 1.5).abs()).collect();
    let log = Log::builder()
        .action("price", price)
        .reward("reward", reward)
        .propensity("p", vec![1.0 / 3.0; n as usize])
        .build()?;
    let question = ByAction { low: 0.0, high: 3.0 };
    let answer = Engine::shared().ask(&question, log.blocks());
    for (k, [weight, cost]) in answer.iter().enumerate() {
        println!("price {:.1} to {:.1}: mean reward {:.3}", 0.3 * k as f64, 0.3 * (k + 1) as f64, -cost / weight);
    }
    // the same bits on one thread, and from two halves that answer apart
    assert_eq!(answer, Engine::single().ask(&question, log.blocks()));
    let (left, right) = log.blocks().split_at(20);
    let mut merge = |other: &Tenths, into: &mut Tenths| question.merge(other, into);
    let mut forest = Engine::single().forest(&question, left)?;
    forest.append(Engine::single().forest(&question, right)?, &mut merge)?;
    assert_eq!(forest.finish(&mut merge), Some(answer));
    Ok(())
}
