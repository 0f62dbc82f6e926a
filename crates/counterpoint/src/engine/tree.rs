//! In which order partial answers are merged: a fixed binary tree over the places of the blocks.
//!
//! Node (level l, index i) covers the places i 2^l to (i + 1) 2^l - 1. Its answer is the merged answer of its two halves, or the
//! answer of the one half that has blocks: a missing half is passed over, not merged as zero. So the answer of a log depends on
//! which blocks there are and on nothing else. Threads, machines, and any cut of the log between two blocks give the same bits.
//!
//! Whoever holds a range of the blocks can complete the nodes that lie wholly inside its range and no others: it answers
//! with these, from left to right ([`Forest`]). Appending the forests of neighbouring ranges completes more nodes, and
//! finishing the last one completes the tree.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// A run of rows with a place in the log.
pub trait Placed {
    /// Its place among the blocks of the log as it was read.
    fn index(&self) -> u64;

    /// It was read, and others will be before it is read again: what can be had again need not be held.
    fn passed(&self) {}
}

/// The level of the lowest node that covers both places.
pub(super) fn meet(a: u64, b: u64) -> u32 {
    u64::BITS - (a ^ b).leading_zeros()
}

/// The first place that the node of this level over a place covers.
fn start(place: u64, level: u32) -> u64 {
    place.checked_shr(level).map_or(0, |i| i << level)
}

/// A completed node with its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node<A> {
    /// It covers 2^level places.
    pub level: u32,
    /// Which node of its level.
    pub index: u64,
    /// The answer for its blocks.
    pub answer: A,
}

impl<A> Node<A> {
    /// The first place it covers.
    fn first(&self) -> u64 {
        self.index.checked_shl(self.level).unwrap_or(0)
    }

    /// The last place it covers.
    fn last(&self) -> u64 {
        let width = 1u64.checked_shl(self.level).unwrap_or(0).wrapping_sub(1); // level 64 covers all places
        self.first() | width
    }
}

/// The completed nodes of a range of blocks, from left to right: at most two a level.
///
/// ```
/// use counterpoint::engine::{Forest, Node};
/// let leaf = |index: u64| Node { level: 0, index, answer: index.to_string() };
/// let mut merge = |right: &String, left: &mut String| *left = format!("({left} {right})");
/// let (mut left, mut right) = (Forest::default(), Forest::default());
/// (0..3).try_for_each(|i| left.push(leaf(i), &mut merge))?;
/// (3..6).try_for_each(|i| right.push(leaf(i), &mut merge))?;
/// assert_eq!(left.nodes().len(), 2); // (0 1) and 2: the node of 2 and 3 lies on the border
/// left.append(right, &mut merge)?;
/// assert_eq!(left.finish(&mut merge).unwrap(), "(((0 1) (2 3)) (4 5))");
/// # Ok::<(), counterpoint::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forest<A> {
    nodes: Vec<Node<A>>,
}

impl<A> Default for Forest<A> {
    fn default() -> Self {
        Forest { nodes: Vec::new() }
    }
}

impl<A> Forest<A> {
    /// The nodes, from left to right.
    pub fn nodes(&self) -> &[Node<A>] {
        &self.nodes
    }

    /// Adds a node to the right, and completes what it shows to be complete. `merge` adds its first argument to its second.
    pub fn push(&mut self, node: Node<A>, merge: &mut impl FnMut(&A, &mut A)) -> Result<()> {
        let from = self.nodes.first().map_or(0, Node::first);
        self.push_from(from, node, merge)
    }

    /// The same where everything from place `from` on is known to be here.
    fn push_from(&mut self, from: u64, node: Node<A>, merge: &mut impl FnMut(&A, &mut A)) -> Result<()> {
        if self.nodes.last().is_some_and(|last| last.last() >= node.first()) {
            return Err(Error::data("two answers are for the same blocks, or for blocks out of order")
                .hint("every block belongs to one shard, and shards are asked in the order of the log"));
        }
        self.complete(from, Some(node.first()), merge);
        self.nodes.push(node);
        Ok(())
    }

    /// Merges from the right what no block before `next` can add to.
    fn complete(&mut self, from: u64, next: Option<u64>, merge: &mut impl FnMut(&A, &mut A)) {
        while let [.., left, right] = self.nodes.as_mut_slice() {
            let level = meet(left.first(), right.first());
            let later = next.is_some_and(|next| meet(right.first(), next) <= level);
            if later || start(left.first(), level) < from {
                return;
            }
            merge(&right.answer, &mut left.answer);
            (left.index, left.level) = (left.first().checked_shr(level).unwrap_or(0), level);
            self.nodes.pop();
        }
    }

    /// Adds the forest of the range to the right of this one.
    pub fn append(&mut self, other: Forest<A>, merge: &mut impl FnMut(&A, &mut A)) -> Result<()> {
        other.nodes.into_iter().try_for_each(|node| self.push(node, merge))
    }

    /// The answer for all blocks, if there are any: no more will come on either side.
    pub fn finish(self, merge: &mut impl FnMut(&A, &mut A)) -> Option<A> {
        let mut whole = Forest::default();
        for node in self.nodes {
            whole.push_from(0, node, merge).ok()?; // they were in order before
        }
        whole.complete(0, None, merge);
        whole.nodes.pop().map(|root| root.answer)
    }
}

/// The same climb where answers stay in their slots: which subtrees are open, and in which slot each of them lies.
pub(super) struct Spine {
    open: [(u64, usize); u64::BITS as usize + 1],
    depth: usize,
}

impl Spine {
    pub(super) fn new() -> Self {
        Spine { open: [(0, 0); u64::BITS as usize + 1], depth: 0 }
    }

    /// Subtrees that are open.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Opens a subtree whose answer is in a slot; places rise.
    pub(super) fn open(&mut self, place: u64, slot: usize) {
        self.open[self.depth] = (place, slot);
        self.depth += 1;
    }

    /// Merges what no block before `next` can add to; `merge(from, into)` merges slots.
    pub(super) fn complete(&mut self, next: Option<u64>, mut merge: impl FnMut(usize, usize)) {
        while self.depth > 1 {
            let ((left, into), (right, from)) = (self.open[self.depth - 2], self.open[self.depth - 1]);
            if next.is_some_and(|next| meet(right, next) <= meet(left, right)) {
                return;
            }
            merge(from, into);
            self.depth -= 1;
        }
    }
}
