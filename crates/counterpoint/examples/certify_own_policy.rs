//! Certify a policy that was not learned here: all that is needed is its log density and a draw.
//!
//! ```text
//! cargo run --release --example certify_own_policy
//! ```

#![allow(missing_docs, clippy::print_stdout)]

use counterpoint::certify::Terms;
use counterpoint::data::SplitRule;
use counterpoint::policy::TargetPolicy;
use counterpoint::{Log, Result, certify};
use rand::{Rng, RngExt};

/// Somebody's rule: a price between 0.8 + x and 1.2 + x, every price in between equally likely.
struct Band;

impl TargetPolicy for Band {
    fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
        if (a[0] - 1.0 - x[0]).abs() <= 0.2 { (1.0f64 / 0.4).ln() } else { f64::NEG_INFINITY }
    }

    fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        vec![0.8 + x[0] + 0.4 * rng.random::<f64>()]
    }
}

fn main() -> Result<()> {
    let n = 6000;
    let x: Vec<f64> = (0..n).map(|i| (f64::from(i) * 0.754_877_666).fract()).collect();
    let price: Vec<f64> = (0..n).map(|i| 3.0 * (f64::from(i) * 0.569_840_291).fract()).collect();
    let reward = x.iter().zip(&price).map(|(x, a)| 1.0 - (a - 1.0 - x).abs()).collect();
    let density = vec![1.0 / 3.0; n as usize];
    let log = Log::builder()
        .context("x", x)
        .action("price", price)
        .reward("reward", reward)
        .propensity("density", density)
        .build()?;
    let parts = log.split(SplitRule::default())?;
    let certificate = certify(&Band, &parts.valid, &parts.test, &Terms::default())?;
    println!("{certificate}");
    assert!(certificate.deploys(), "the band earns 0.9 on average, the log about 0.17");
    Ok(())
}
