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
    /// The best that this machine has and that there is code for: a machine that stops at SSE4.2 has no fused multiply-add, which decides
    /// over the speed, and runs the code of SSE2.
    pub fn best() -> Self {
        let best = Level::new();
        #[cfg(target_arch = "x86_64")]
        if let (Level::Sse4_2(_), Some(sse2)) = (best, best.as_sse2()) {
            return Instructions(Level::Sse2(sse2));
        }
        Instructions(best)
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
            all.extend(best.as_avx2().map(Level::Avx2));
            all.extend(best.as_avx512().map(Level::Avx512));
        }
        if all.last().is_none_or(|last| Instructions(*last) != Instructions::best()) {
            all.push(Instructions::best().0);
        }
        all.into_iter().map(Instructions).collect()
    }

    /// Those with this name, if this machine has them.
    pub fn named(name: &str) -> Option<Self> {
        Instructions::all().into_iter().find(|i| i.name() == name)
    }

    /// Their name, in lower case: sse2, avx2, avx512, neon.
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
    CHOSEN.get().unwrap_or_else(Instructions::best).0
}

/// Runs an expression with the token of a level, like `fearless_simd::dispatch!`, but without code of its own for SSE4.2: every level is
/// one more copy of all kernels in the program, and this one would be no faster than SSE2.
#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
macro_rules! dispatch {
    ($level:expr, $simd:ident => $op:expr) => {
        match $level {
            ::fearless_simd::Level::Avx512(token) => $crate::vector::with_token!(token, $simd => $op),
            ::fearless_simd::Level::Avx2(token) => $crate::vector::with_token!(token, $simd => $op),
            other => match other.as_sse2() {
                Some(token) => $crate::vector::with_token!(token, $simd => $op),
                None => unreachable!("x86-64 has SSE2"),
            },
        }
    };
}

/// The expression, compiled for a level, with its token as `impl Simd`: what is done with it must do for every level.
#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
macro_rules! with_token {
    ($token:expr, $simd:ident => $op:expr) => {{
        #[inline(always)]
        fn any<S: ::fearless_simd::Simd>(token: S) -> impl ::fearless_simd::Simd {
            token
        }
        let $simd = any($token);
        ::fearless_simd::Simd::vectorize(
            $token,
            #[inline(always)]
            || $op,
        )
    }};
}

#[cfg(not(all(target_arch = "x86_64", not(feature = "portable"))))]
pub(crate) use fearless_simd::dispatch;
#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
pub(crate) use {dispatch, with_token};
