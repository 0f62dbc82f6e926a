//! Who adds it up.
//!
//! A [`Fold`] asks one question of every block; partial answers add up. An [`Engine`] runs folds on threads. It knows no
//! statistics: it hands out blocks, and merges the partial answers in the order of the blocks, so that the result does
//! not depend on the number of threads.

use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A question asked of every block of rows.
pub trait Fold<B>: Sync {
    /// A partial answer.
    type Partial: Send;
    /// The answer for no rows.
    fn zero(&self) -> Self::Partial;
    /// Makes an old partial the answer for no rows again, keeping its memory.
    fn reset(&self, partial: &mut Self::Partial) {
        *partial = self.zero();
    }
    /// Adds the rows of one block.
    fn add(&self, block: &B, into: &mut Self::Partial);
    /// Adds the answer for other rows.
    fn merge(&self, other: &Self::Partial, into: &mut Self::Partial);
}

/// At most this many partial answers are held at once; beyond, runs of neighbouring blocks share one. Like the block
/// size it is part of the definition of the sums, so it does not depend on the machine.
const MAX_PARTIALS: usize = 1024;

/// How long helpers look for more work before they go to sleep. An optimiser asks again within microseconds; waking a
/// sleeping thread takes longer than one pass over ten thousand rows.
const LINGER: Duration = Duration::from_micros(200);

/// Threads of this process: the caller's own, and helpers.
pub struct Engine {
    helpers: Option<Helpers>,
    threads: usize,
}

struct Helpers {
    pool: rayon::ThreadPool,
    /// More threads than cores: whoever has nothing to do should sleep.
    crowded: bool,
    /// Whether the helpers are looking for work, and how many questions have been asked so far.
    awake: Arc<AtomicBool>,
    asked: Arc<AtomicU64>,
}

impl Engine {
    /// An engine with this many threads; 0 means one a core.
    pub fn new(threads: usize) -> Result<Self> {
        let threads = if threads == 0 { cores() } else { threads };
        if threads == 1 {
            return Ok(Engine::single());
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads - 1)
            .build()
            .map_err(|e| Error::recipe("threads", format!("cannot start {threads} threads: {e}")))?;
        let helpers = Helpers { pool, crowded: threads > cores(), awake: Arc::default(), asked: Arc::default() };
        Ok(Engine { helpers: Some(helpers), threads })
    }

    /// An engine that uses only the calling thread.
    pub fn single() -> Self {
        Engine { helpers: None, threads: 1 }
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `work`, which asks for many folds, on the calling thread; the helpers join in at each fold.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        work()
    }

    /// Runs independent pieces of work side by side and returns the results in order.
    pub fn map<A: Sync, T: Send>(&self, items: &[A], work: impl Fn(&A) -> T + Sync + Send) -> Vec<T> {
        let mut results: Vec<Option<T>> = items.iter().map(|_| None).collect();
        self.share(&mut results, items, |result, item| *result = item.first().map(&work));
        results.into_iter().flatten().collect()
    }

    /// Does `work` for each slot and its run of items, on all threads.
    ///
    /// Every thread has its own stretch, the same each time (so that rows stay in the cache of the core that saw them
    /// last), and when it is through helps with the others'.
    fn share<A: Sync, T: Send>(&self, slots: &mut [T], items: &[A], work: impl Fn(&mut T, &[A]) + Sync) {
        let run = items.len().div_ceil(slots.len().max(1)).max(1);
        let Some(helpers) = self.helpers.as_ref().filter(|_| slots.len() > 1) else {
            return slots.iter_mut().zip(items.chunks(run)).for_each(|(slot, run)| work(slot, run));
        };
        let stretch = slots.len().div_ceil(self.threads);
        let stretches: Vec<_> = slots
            .chunks_mut(stretch)
            .zip(items.chunks(stretch * run))
            .map(|(slots, items)| Mutex::new(slots.iter_mut().zip(items.chunks(run))))
            .collect();
        let busy = AtomicUsize::new(0);
        let help = |first: usize| {
            for i in 0..stretches.len() {
                let queue = &stretches[(first + i) % stretches.len()];
                loop {
                    // a binding, so that the lock is released before the work
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    match next {
                        Some((slot, run)) => work(slot, run),
                        None => break,
                    }
                }
            }
        };
        helpers.pool.in_place_scope(|scope| {
            for _ in 1..stretches.len() {
                scope.spawn(|_| {
                    busy.fetch_add(1, Ordering::Relaxed);
                    help(rayon::current_thread_index().map_or(0, |i| i + 1));
                    busy.fetch_sub(1, Ordering::Release);
                });
            }
            help(0);
            // the last runs end within one block's time of each other: too short to sleep
            let start = Instant::now();
            while busy.load(Ordering::Acquire) > 0 && start.elapsed() < LINGER {
                std::hint::spin_loop();
            }
            // a helper reports to the scope a moment after it has stopped being busy
            (0..30).for_each(|_| std::hint::spin_loop());
        });
        helpers.stay();
    }

    /// Asks `fold` of all `blocks`; the answer is left in `slots[0]`. Slots are reused from call to call.
    pub fn fold<B: Sync, F: Fold<B>>(&self, fold: &F, blocks: &[B], slots: &mut Vec<F::Partial>) {
        let run = blocks.len().div_ceil(MAX_PARTIALS).max(1);
        slots.resize_with(blocks.len().div_ceil(run).max(1), || fold.zero());
        if blocks.is_empty() {
            fold.reset(&mut slots[0]);
        }
        self.share(slots, blocks, |slot, run| {
            fold.reset(slot);
            run.iter().for_each(|b| fold.add(b, slot));
        });
        if let Some((first, rest)) = slots.split_first_mut() {
            rest.iter().for_each(|p| fold.merge(p, first));
        }
    }

    /// Asks once and returns the answer.
    pub fn ask<B: Sync, F: Fold<B>>(&self, fold: &F, blocks: &[B]) -> F::Partial {
        let mut slots = Vec::new();
        self.fold(fold, blocks, &mut slots);
        slots.swap_remove(0)
    }
}

impl Helpers {
    /// Keeps the helpers awake until nothing was asked for a while.
    fn stay(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.crowded || self.awake.swap(true, Ordering::AcqRel) {
            return;
        }
        let (awake, asked) = (self.awake.clone(), self.asked.clone());
        self.pool.spawn_broadcast(move |_| {
            let (mut seen, mut since) = (asked.load(Ordering::Relaxed), Instant::now());
            while since.elapsed() < LINGER {
                if rayon::yield_now() == Some(rayon::Yield::Executed) || asked.load(Ordering::Relaxed) != seen {
                    (seen, since) = (asked.load(Ordering::Relaxed), Instant::now());
                } else {
                    std::hint::spin_loop();
                }
            }
            awake.store(false, Ordering::Release);
        });
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}
