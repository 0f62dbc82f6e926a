//! Who adds it up.
//!
//! A [`Fold`] asks one question of every block; partial answers add up. An [`Engine`] runs folds on threads. It knows no
//! statistics: it hands out blocks, and merges the partial answers in a fixed binary tree over their places (`tree`), so that
//! the result depends neither on the number of threads nor on who holds which blocks.

mod list;
mod tree;

pub use list::Member;
pub(crate) use list::questions;
pub use tree::{Forest, Node, Placed};

use crate::error::{Error, Result};
pub use crate::vector::Instructions;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tree::Spine;

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
    /// A partial was merged into another and will be reset before it is used again. Those that are large give back their memory here;
    /// otherwise every open subtree of every run keeps its last answer.
    fn spent(&self, _partial: &mut Self::Partial) {}
    /// The answer for all rows is complete: what was left for later is done now.
    fn finish(&self, _answer: &mut Self::Partial) {}
}

/// Runs of blocks a thread, so that no thread waits long for the last. It changes no bit: the tree is the same whatever the runs.
const RUNS_A_THREAD: usize = 16;

/// How long helpers look for more work before they go to sleep. An optimiser asks again within microseconds; waking a
/// sleeping thread takes longer than one pass over ten thousand rows.
const LINGER: Duration = Duration::from_micros(200);

/// Threads of this process: the caller's own, and helpers.
pub struct Engine {
    helpers: Option<Helpers>,
    threads: usize,
    stop: Option<Arc<AtomicBool>>,
    instructions: Option<Instructions>,
}

/// What the work of an engine unwinds with once its user has asked it to [stop](Engine::stopped_by).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

struct Helpers {
    pool: rayon::ThreadPool,
    /// More threads than cores: whoever has nothing to do should sleep.
    crowded: bool,
    /// Whether the helpers are looking for work, and how many questions have been asked so far.
    awake: Arc<AtomicBool>,
    asked: Arc<AtomicU64>,
}

impl Engine {
    /// An engine with this many threads; 0 means one per core.
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
        Ok(Engine { helpers: Some(helpers), threads, stop: None, instructions: None })
    }

    /// An engine that uses only the calling thread.
    pub const fn single() -> Self {
        Engine { helpers: None, threads: 1, stop: None, instructions: None }
    }

    /// The engine of whoever names none: one thread per core, started when it is first needed.
    pub fn shared() -> &'static Engine {
        static SHARED: OnceLock<Engine> = OnceLock::new();
        SHARED.get_or_init(|| Engine::new(0).unwrap_or_else(|_| Engine::single()))
    }

    /// An engine that gives up, once `flag` is set, at the next question: it unwinds with [`Stopped`], so that nothing between the
    /// caller and the engine has to know of it. The caller catches that with [`std::panic::catch_unwind`].
    ///
    /// ```
    /// use counterpoint::engine::{Engine, Stopped};
    /// use std::panic::{AssertUnwindSafe, catch_unwind};
    /// use std::sync::{Arc, atomic::{AtomicBool, Ordering}};
    /// let flag = Arc::new(AtomicBool::new(false));
    /// let engine = Engine::single().stopped_by(flag.clone());
    /// assert_eq!(engine.map(&[1, 2], |v| v + 1), [2, 3]);
    /// flag.store(true, Ordering::Relaxed);
    /// let stopped = catch_unwind(AssertUnwindSafe(|| engine.map(&[1, 2], |v| v + 1)));
    /// assert!(stopped.unwrap_err().is::<Stopped>());
    /// ```
    #[must_use]
    pub fn stopped_by(mut self, flag: Arc<AtomicBool>) -> Self {
        self.stop = Some(flag);
        self
    }

    /// An engine that computes with these instructions rather than the best: slower, and the same to the last bit.
    ///
    /// It holds for what the engine runs; work around it, such as the solution of a small system, is done with them inside
    /// [`Engine::enter`].
    ///
    /// ```
    /// use counterpoint::engine::{Engine, Instructions};
    /// let engine = Engine::single().using(Instructions::all()[0]);
    /// assert_eq!(engine.map(&[1, 2], |v| v + 1), [2, 3]);
    /// ```
    #[must_use]
    pub fn using(mut self, instructions: Instructions) -> Self {
        self.instructions = Some(instructions);
        self
    }

    /// Gives up here if that was asked for.
    pub(crate) fn heed(&self) {
        if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            // not a fault: no hook is called and nothing is written
            std::panic::resume_unwind(Box::new(Stopped));
        }
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `work`, which asks for many folds, on the calling thread; the helpers join in at each fold.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.chosen(work)
    }

    /// Does this on the calling thread with the instructions that were asked for.
    fn chosen<T>(&self, work: impl FnOnce() -> T) -> T {
        match self.instructions {
            Some(instructions) => instructions.during(work),
            None => work(),
        }
    }

    /// Runs independent pieces of work side by side and returns the results in order.
    pub fn map<A: Sync, T: Send>(&self, items: &[A], work: impl Fn(&A) -> T + Sync + Send) -> Vec<T> {
        self.heed();
        let mut results: Vec<Option<T>> = items.iter().map(|_| None).collect();
        self.share(&mut results, items, |result, item| *result = item.first().map(&work));
        results.into_iter().flatten().collect()
    }

    /// Does `work` for each slot and its run of items, on all threads.
    ///
    /// Every thread has its own stretch, the same each time (so that rows stay in the cache of the core that saw them
    /// last), and when it is through helps with the others'.
    fn share<A: Sync, T: Send>(&self, slots: &mut [T], items: &[A], work: impl Fn(&mut T, &[A]) + Sync) {
        self.chosen(|| self.share_out(slots, items, work));
    }

    fn share_out<A: Sync, T: Send>(&self, slots: &mut [T], items: &[A], work: impl Fn(&mut T, &[A]) + Sync) {
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
        // what the caller computes with holds for its helpers too
        let chosen = Instructions::chosen();
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
                    let help = || help(rayon::current_thread_index().map_or(0, |i| i + 1));
                    chosen.map_or_else(help, |chosen| chosen.during(help));
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
    ///
    /// The places of the blocks ([`Placed::index`]) should rise; if they do not, blocks count in the order given.
    pub fn fold<B: Placed + Sync, F: Fold<B>>(&self, fold: &F, blocks: &[B], slots: &mut Vec<F::Partial>) {
        self.heed();
        let cut = Cut::new(blocks, self.threads);
        slots.resize_with((cut.runs().count() * cut.depth).max(1), || fold.zero());
        if blocks.is_empty() {
            return fold.reset(&mut slots[0]);
        }
        if self.helpers.is_none() {
            self.chosen(|| {
                slots.chunks_mut(cut.depth).zip(cut.runs()).for_each(|(slots, run)| climb(fold, &cut, run, slots));
            });
        } else {
            let runs: Vec<_> = cut.runs().collect();
            let mut own: Vec<&mut [F::Partial]> = slots.chunks_mut(cut.depth).collect();
            self.share(&mut own, &runs, |slots, run| run.iter().for_each(|r| climb(fold, &cut, r.clone(), slots)));
        }
        let mut spine = Spine::new();
        for (k, run) in cut.runs().enumerate() {
            spine.complete(Some(cut.place(run.start)), |from, into| merge(fold, slots, from, into));
            spine.open(cut.place(run.start), k * cut.depth);
        }
        spine.complete(None, |from, into| merge(fold, slots, from, into));
        fold.finish(&mut slots[0]);
    }

    /// Asks once and returns the answer.
    pub fn ask<B: Placed + Sync, F: Fold<B>>(&self, fold: &F, blocks: &[B]) -> F::Partial {
        let mut slots = Vec::new();
        self.fold(fold, blocks, &mut slots);
        slots.swap_remove(0)
    }

    /// Asks of a range of the blocks of a log: the nodes of the tree that these blocks complete.
    ///
    /// The range must hold every block of the log between its first and its last, and places must rise.
    pub fn forest<B: Placed + Sync, F: Fold<B>>(&self, fold: &F, blocks: &[B]) -> Result<Forest<F::Partial>> {
        let cut = Cut::new(blocks, self.threads);
        let runs: Vec<_> = cut.runs().collect();
        let parts = self.map(&runs, |run| {
            let mut forest = Forest::default();
            for b in &blocks[run.clone()] {
                let mut answer = fold.zero();
                fold.add(b, &mut answer);
                b.passed();
                forest.push(Node { level: 0, index: b.index(), answer }, &mut |o, into| fold.merge(o, into))?;
            }
            Ok(forest)
        });
        let mut all = Forest::default();
        for part in parts {
            all.append(part?, &mut |o, into| fold.merge(o, into))?;
        }
        Ok(all)
    }
}

/// Blocks cut into runs, each under a node of its own: blocks whose places agree but for the last `level` bits.
struct Cut<'a, B> {
    blocks: &'a [B],
    level: u32,
    /// Slots that a run needs: one for each subtree that is open at a time.
    depth: usize,
    /// Whether places rise.
    placed: bool,
}

impl<'a, B: Placed> Cut<'a, B> {
    fn new(blocks: &'a [B], threads: usize) -> Self {
        let placed = blocks.is_sorted_by(|a, b| a.index() < b.index());
        let mut cut = Cut { blocks, level: 0, depth: 1, placed };
        if let Some(last) = blocks.len().checked_sub(1) {
            let (first, last) = (cut.place(0), cut.place(last));
            let most = if threads == 1 { 1 } else { (RUNS_A_THREAD * threads) as u64 };
            let runs = |level: u32| last.checked_shr(level).unwrap_or(0) - first.checked_shr(level).unwrap_or(0);
            while runs(cut.level) >= most {
                cut.level += 1;
            }
            cut.depth = blocks.len().min(cut.level as usize + 1);
        }
        cut
    }

    fn place(&self, i: usize) -> u64 {
        if self.placed { self.blocks[i].index() } else { i as u64 }
    }

    fn runs(&self) -> impl Iterator<Item = Range<usize>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let from = at;
            let node = |i: usize| self.place(i).checked_shr(self.level);
            while at < self.blocks.len() && node(at) == node(from) {
                at += 1;
            }
            (at > from).then_some(from..at)
        })
    }
}

/// Answers for one run: the answer for all of it is left in the first of its slots.
fn climb<B: Placed, F: Fold<B>>(fold: &F, cut: &Cut<B>, run: Range<usize>, slots: &mut [F::Partial]) {
    let mut spine = Spine::new();
    for i in run {
        spine.complete(Some(cut.place(i)), |from, into| merge(fold, slots, from, into));
        let slot = spine.depth();
        fold.reset(&mut slots[slot]);
        fold.add(&cut.blocks[i], &mut slots[slot]);
        cut.blocks[i].passed();
        spine.open(cut.place(i), slot);
    }
    spine.complete(None, |from, into| merge(fold, slots, from, into));
}

/// Adds one slot to another before it.
fn merge<B, F: Fold<B>>(fold: &F, slots: &mut [F::Partial], from: usize, into: usize) {
    let (left, right) = slots.split_at_mut(from);
    fold.merge(&right[0], &mut left[into]);
    fold.spent(&mut right[0]);
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
