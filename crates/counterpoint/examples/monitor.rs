//! Follow a deployed policy row by row, and stop whenever you like: a confidence sequence holds at all times together.
//!
//! ```text
//! cargo run --release --example monitor
//! ```

#![allow(missing_docs, clippy::print_stdout)]

use counterpoint::Result;
use counterpoint::certify::Monitor;

fn main() -> Result<()> {
    // costs lie between 0 and 1; the policy acts itself, so every importance weight is 1
    let mut monitor = Monitor::new(0.95, [0.0, 1.0])?;
    let promised = 0.3; // what the certificate said the policy would cost at most
    for t in 0..20_000u32 {
        // a quarter of the rows cost 1; after 6,000 rows the world changes, and half of them do
        let u = (f64::from(t) * 0.618_033_988_75).fract();
        let cost = f64::from(u < if t < 6000 { 0.25 } else { 0.5 });
        let (lower, upper) = monitor.update(1.0, cost)?;
        if (t + 1) % 2000 == 0 {
            println!("{:>6} rows: mean cost between {lower:.3} and {upper:.3}", t + 1);
        }
        if lower > promised {
            println!("alarm after {} rows: the cost is above {promised} (95% confidence, whenever one looks)", t + 1);
            return Ok(());
        }
    }
    println!("no alarm");
    Ok(())
}
