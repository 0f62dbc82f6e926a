//! How long a search may take.
//!
//! What is found within a budget depends on the clock, and says so: every search lists what it left out ([`Selected::left_out`]). What is
//! never left to the clock is what a finished piece of work comes to: a fit is the same fit, whenever it was made, and a search for
//! which the budget was long enough ends in the same bits as one without a budget.
//!
//! [`Selected::left_out`]: crate::select::Selected::left_out

use std::fmt;
use std::time::{Duration, Instant};

/// Time for a search, or no limit.
///
/// ```
/// use counterpoint::budget::Budget;
/// use std::time::Duration;
/// assert_eq!(Budget::unlimited().spent(), 0.0);
/// assert!(Budget::lasting(Duration::from_secs(3600)).spent() < 0.5);
/// assert_eq!(Budget::lasting(Duration::ZERO).spent(), 1.0);
/// ```
#[derive(Clone, Copy, Default)]
pub struct Budget<'a> {
    clock: Clock<'a>,
}

#[derive(Clone, Copy, Default)]
enum Clock<'a> {
    #[default]
    None,
    Wall {
        begun: Instant,
        lasting: Duration,
    },
    Given(&'a (dyn Fn() -> f64 + Sync)),
}

impl<'a> Budget<'a> {
    /// As long as it takes.
    pub fn unlimited() -> Self {
        Budget::default()
    }

    /// So much wall time from now on.
    pub fn lasting(lasting: Duration) -> Self {
        Budget { clock: Clock::Wall { begun: Instant::now(), lasting } }
    }

    /// By another clock, which says the share of the budget that is spent.
    pub fn by(spent: &'a (dyn Fn() -> f64 + Sync)) -> Self {
        Budget { clock: Clock::Given(spent) }
    }

    /// Whether there is a limit.
    pub fn limits(&self) -> bool {
        !matches!(self.clock, Clock::None)
    }

    /// The share that is spent, 1 and more where time is up; 0 without a limit.
    pub fn spent(&self) -> f64 {
        match self.clock {
            Clock::None => 0.0,
            Clock::Wall { lasting: Duration::ZERO, .. } => 1.0,
            Clock::Wall { begun, lasting } => begun.elapsed().as_secs_f64() / lasting.as_secs_f64(),
            Clock::Given(spent) => spent(),
        }
    }

    /// Whether less than this share is spent: whether a piece of work that belongs before that moment may begin.
    pub fn before(&self, share: f64) -> bool {
        !self.limits() || self.spent() < share
    }
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.clock {
            Clock::None => f.write_str("Budget(unlimited)"),
            Clock::Wall { lasting, .. } => write!(f, "Budget({lasting:?})"),
            Clock::Given(_) => f.write_str("Budget(by a clock of the caller)"),
        }
    }
}
