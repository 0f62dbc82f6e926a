//! Learn a policy from a log, look at it on other rows, and certify it.
//!
//! ```text
//! cargo run --release --example learn
//! ```

#![allow(missing_docs, clippy::print_stdout)]

use counterpoint::certify::Terms;
use counterpoint::data::SplitRule;
use counterpoint::policy::TargetPolicy;
use counterpoint::{Estimator, Log, Recipe, Result, certify, describe, evaluate, learn};

/// 6,000 rows: a context x, a price drawn uniformly between 0 and 3, a reward that is best at a price of 1 + x.
fn log() -> Result<Log> {
    let n = 6000;
    let x: Vec<f64> = (0..n).map(|i| (f64::from(i) * 0.754_877_666).fract()).collect();
    let price: Vec<f64> = (0..n).map(|i| 3.0 * (f64::from(i) * 0.569_840_291).fract()).collect();
    let reward = x.iter().zip(&price).map(|(x, a)| 1.0 - (a - 1.0 - x).abs()).collect();
    // the density with which the price was drawn, logged when it was drawn
    let density = vec![1.0 / 3.0; n as usize];
    Log::builder()
        .context("x", x)
        .action("price", price)
        .reward("reward", reward)
        .propensity("density", density)
        .build()
}

fn main() -> Result<()> {
    let log = log()?;
    println!("{}\n", describe(&log)?);
    let parts = log.split(SplitRule::default())?;
    let learned = learn(&parts.train, &Recipe::default())?;
    println!("mean price at x = 0.5: {:.3} (best: 1.5)", learned.policy.mean(&[0.5]).map_or(f64::NAN, |a| a[0]));
    let e = evaluate(&parts.valid, &learned.policy, &Estimator::SNIPS)?;
    println!("estimated reward {:.3} [{:.3}, {:.3}], the log's {:.3}\n", e.estimate, e.lower, e.upper, e.logged);
    let certificate = certify(&learned.policy, &parts.valid, &parts.test, &Terms::default())?;
    println!("{certificate}");
    Ok(())
}
