//! Which instructions are used: the best that the machine has, unless others were asked for.
//!
//! The choice changes the time and not one bit of a result; it can be made so that tests see that. It holds for a thread and a
//! time, because what computes in vectors lies deep in the rooms, and none of them should carry a level around.

use fearless_simd::Level;
use std::cell::Cell;

thread_local! {
    static CHOSEN: Cell<Option<Instructions>> = const { Cell::new(None) };
}

/// Vector instructions of this machine. The result of a computation does not depend on them.
///
/// ```
/// use counterpoint::engine::Instructions;
/// let all = Instructions::all();
/// assert_eq!(all.last().unwrap().name(), Instructions::best().name());
/// assert_eq!(Instructions::named("abacus"), None);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Instructions(Level);

impl PartialEq for Instructions {
    fn eq(&self, other: &Instructions) -> bool {
        self.name() == other.name()
    }
}

impl Instructions {
    /// The best that this machine has.
    pub fn best() -> Self {
        Instructions(Level::new())
    }

    /// All that this machine has, the best last.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(feature = "portable")]
        all.push(Level::fallback());
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        {
            let best = Level::new();
            all.extend(best.as_sse2().map(Level::Sse2));
            all.extend(best.as_sse4_2().map(Level::Sse4_2));
            all.extend(best.as_avx2().map(Level::Avx2));
            all.extend(best.as_avx512().map(Level::Avx512));
        }
        if all.last().is_none_or(|last| Instructions(*last) != Instructions::best()) {
            all.push(Level::new());
        }
        all.into_iter().map(Instructions).collect()
    }

    /// Those with this name, if this machine has them.
    pub fn named(name: &str) -> Option<Self> {
        Instructions::all().into_iter().find(|i| i.name() == name)
    }

    /// Their name, in lower case: sse2, sse4_2, avx2, avx512, neon.
    pub fn name(self) -> String {
        format!("{:?}", self.0).split('(').next().unwrap_or_default().to_lowercase()
    }

    /// Does `work` with these, on this thread.
    pub(crate) fn during<T>(self, work: impl FnOnce() -> T) -> T {
        struct Back(Option<Instructions>);
        impl Drop for Back {
            fn drop(&mut self) {
                CHOSEN.set(self.0);
            }
        }
        let _back = Back(CHOSEN.replace(Some(self)));
        work()
    }

    /// What was asked for on this thread.
    pub(crate) fn chosen() -> Option<Self> {
        CHOSEN.get()
    }
}

/// The level that `dispatch!` is given.
pub(crate) fn level() -> Level {
    CHOSEN.get().map_or_else(Level::new, |chosen| chosen.0)
}
