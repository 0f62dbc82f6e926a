//! A small regression tree over contexts: cells in which rows are alike.
//!
//! Certificates use it twice: to find contexts that the log does not support (a tree over weights) and to take out of the outcomes
//! what contexts explain (a tree over outcomes). It is grown best first on rows that are held in memory, few thousands of them.

use super::forest::Masses;
use serde::{Deserialize, Serialize};

/// Cuts that are tried per column and cell, at evenly spaced ranks.
const CUTS: usize = 24;

/// How a tree is grown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// Cells at most.
    pub cells: usize,
    /// Rows in a cell at least.
    pub rows: usize,
}

impl Growth {
    /// How a tree over contexts alone is grown on n rows to say what they explain of an outcome.
    pub(crate) fn of_contexts(n: usize) -> Growth {
        Growth { cells: 16, rows: (n / 40).max(25) }
    }
}

/// A binary tree of cuts `x[column] <= at`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Node {
    Cut { column: usize, at: f64, below: usize, above: usize },
    Cell { number: usize, mean: f64 },
}

/// Rows with their order in every column: made once, however many trees are grown on them.
pub struct Ranked<'a> {
    x: &'a [f64],
    d: usize,
    /// Column by column the rows in ascending order, equal numbers in the order of the rows.
    orders: Vec<Vec<u32>>,
}

impl<'a> Ranked<'a> {
    /// The order of `n` rows of `d` numbers each.
    pub fn of(x: &'a [f64], d: usize, n: usize) -> Self {
        let order = |column: usize| {
            let mut order: Vec<u32> = (0..n as u32).collect();
            let value = |i: u32| x[i as usize * d + column];
            order.sort_unstable_by(|a, b| value(*a).total_cmp(&value(*b)).then(a.cmp(b)));
            order
        };
        Ranked { x, d, orders: (0..d).map(order).collect() }
    }

    /// The rows in the order of a column.
    pub fn by(&self, column: usize) -> &[u32] {
        &self.orders[column]
    }
}

/// A cell while the tree grows: where it hangs, its rows, these in the order of every column, its best cut.
struct Open {
    node: usize,
    rows: Vec<usize>,
    orders: Vec<Vec<u32>>,
    best: Option<Cut>,
}

#[derive(Clone, Copy)]
struct Cut {
    column: usize,
    at: f64,
    gain: f64,
}

impl Tree {
    /// Grows a tree for a target over contexts, `d` numbers a row.
    pub fn grow(x: &[f64], d: usize, target: &[f64], growth: Growth) -> Self {
        Tree::grow_on(&Ranked::of(x, d, target.len()), target, growth)
    }

    /// The same on rows whose order is known.
    pub fn grow_on(ranked: &Ranked, target: &[f64], growth: Growth) -> Self {
        let (x, d) = (ranked.x, ranked.d);
        let all: Vec<usize> = (0..target.len()).collect();
        let mut tree = Tree { nodes: vec![Node::Cell { number: 0, mean: 0.0 }] };
        let open = |node: usize, rows: Vec<usize>, orders: Vec<Vec<u32>>| {
            let best = best_cut((x, d), target, (&rows, &orders), growth.rows);
            Open { node, rows, orders, best }
        };
        let mut cells = vec![open(0, all, ranked.orders.clone())];
        while cells.len() < growth.cells {
            // of equal gains the first: the tree is the same everywhere
            let gain = |c: &Open| c.best.map_or(0.0, |b| b.gain);
            let mut pick = 0;
            for i in 1..cells.len() {
                if gain(&cells[i]) > gain(&cells[pick]) {
                    pick = i;
                }
            }
            let Some(cut) = cells[pick].best.filter(|c| c.gain > 0.0) else { break };
            let Open { node, rows, orders, .. } = cells.swap_remove(pick);
            let lies_low = |i: usize| x[i * d + cut.column] <= cut.at;
            let (low, high): (Vec<usize>, Vec<usize>) = rows.iter().partition(|&&i| lies_low(i));
            // what was in order stays in order
            let part = |o: Vec<u32>| o.into_iter().partition::<Vec<u32>, _>(|&i| lies_low(i as usize));
            let (low_orders, high_orders) = orders.into_iter().map(part).unzip();
            let (below, above) = (tree.nodes.len(), tree.nodes.len() + 1);
            tree.nodes[node] = Node::Cut { column: cut.column, at: cut.at, below, above };
            tree.nodes.extend([Node::Cell { number: 0, mean: 0.0 }; 2]);
            cells.push(open(below, low, low_orders));
            cells.push(open(above, high, high_orders));
        }
        for (number, c) in cells.iter().enumerate() {
            let mean = c.rows.iter().map(|&i| target[i]).sum::<f64>() / c.rows.len().max(1) as f64;
            tree.nodes[c.node] = Node::Cell { number, mean };
        }
        tree
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.nodes.iter().filter(|n| matches!(n, Node::Cell { .. })).count()
    }

    /// The cell of a row, and the mean of the target in it.
    pub fn cell(&self, x: impl Fn(usize) -> f64) -> (usize, f64) {
        let mut node = 0;
        loop {
            match self.nodes.get(node) {
                Some(Node::Cut { column, at, below, above }) => node = if x(*column) <= *at { *below } else { *above },
                Some(Node::Cell { number, mean }) => return (*number, *mean),
                None => return (0, 0.0),
            }
        }
    }

    /// The mean of the target where the first columns are x and the others are drawn by a policy that gives these masses to boxes of them.
    pub fn expected(&self, x: &[f64], (low, high): (&[f64], &[f64]), masses: &Masses) -> f64 {
        let (mut low, mut high) = (low.to_vec(), high.to_vec());
        self.expected_below(0, x, &mut low, &mut high, masses)
    }

    fn expected_below(&self, node: usize, x: &[f64], low: &mut [f64], high: &mut [f64], masses: &Masses) -> f64 {
        match self.nodes.get(node) {
            Some(Node::Cut { column, at, below, above }) => match column.checked_sub(x.len()) {
                None => self.expected_below(if x[*column] <= *at { *below } else { *above }, x, low, high, masses),
                Some(action) => {
                    let (from, to) = (low[action], high[action]);
                    let mut sum = 0.0;
                    if *at > from {
                        high[action] = at.min(to);
                        sum += self.expected_below(*below, x, low, high, masses);
                        high[action] = to;
                    }
                    if *at < to {
                        low[action] = at.max(from);
                        sum += self.expected_below(*above, x, low, high, masses);
                        low[action] = from;
                    }
                    sum
                }
            },
            Some(Node::Cell { mean, .. }) => mean * masses(low, high),
            None => 0.0,
        }
    }

    /// The bounds of a cell: for each column that is cut, what it lies above and what it is at most.
    pub fn bounds(&self, number: usize) -> Vec<(usize, f64, f64)> {
        let mut path = Vec::new();
        self.find(0, number, &mut path);
        let mut bounds: Vec<(usize, f64, f64)> = Vec::new();
        for (column, at, upper) in path {
            let k = bounds.iter().position(|b| b.0 == column).unwrap_or_else(|| {
                bounds.push((column, f64::NEG_INFINITY, f64::INFINITY));
                bounds.len() - 1
            });
            let b = &mut bounds[k];
            if upper { b.2 = b.2.min(at) } else { b.1 = b.1.max(at) }
        }
        bounds
    }

    fn find(&self, node: usize, number: usize, path: &mut Vec<(usize, f64, bool)>) -> bool {
        match self.nodes.get(node) {
            Some(Node::Cell { number: n, .. }) => *n == number,
            Some(Node::Cut { column, at, below, above }) => {
                for (next, upper) in [(*below, true), (*above, false)] {
                    path.push((*column, *at, upper));
                    if self.find(next, number, path) {
                        return true;
                    }
                    path.pop();
                }
                false
            }
            None => false,
        }
    }
}

/// The cut that takes most of the squared error away: the largest S_low^2 / n_low + S_high^2 / n_high - S^2 / n.
fn best_cut(
    (x, d): (&[f64], usize),
    target: &[f64],
    (rows, orders): (&[usize], &[Vec<u32>]),
    least: usize,
) -> Option<Cut> {
    let n = rows.len();
    if n < 2 * least.max(1) {
        return None;
    }
    let total: f64 = rows.iter().map(|&i| target[i]).sum();
    let mut best: Option<Cut> = None;
    for (column, order) in orders.iter().enumerate() {
        let value = |k: usize| x[order[k] as usize * d + column];
        if value(0) == value(n - 1) {
            continue;
        }
        let step = (n / CUTS).max(1);
        let (mut low, mut from) = (0.0, 0);
        for k in 1..n {
            low += target[order[k - 1] as usize];
            // cuts stand between different values, at least a step apart
            if k < least || n - k < least || value(k - 1) == value(k) || k - from < step {
                continue;
            }
            from = k;
            let high = total - low;
            let gain = low * low / k as f64 + high * high / (n - k) as f64 - total * total / n as f64;
            // less is rounding
            if gain > best.map_or(1e-12 * total * total / n as f64, |b| b.gain) {
                best = Some(Cut { column, at: 0.5 * (value(k - 1) + value(k)), gain });
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_found_with_its_place_and_its_means() {
        let n = 400;
        let x: Vec<f64> =
            (0..n).flat_map(|i| [(f64::from(i) * 0.618).fract(), (f64::from(i) * 0.414).fract()]).collect();
        let y: Vec<f64> =
            (0..n as usize).map(|i| if x[2 * i + 1] > 0.7 && x[2 * i] > 0.5 { 3.0 } else { 1.0 }).collect();
        let tree = Tree::grow(&x, 2, &y, Growth { cells: 4, rows: 20 });
        assert!(tree.cells() >= 3 && tree.cells() <= 4);
        let (high, mean) = tree.cell(|c| [0.9, 0.9][c]);
        assert!((mean - 3.0).abs() < 0.2, "{mean}");
        assert!((tree.cell(|c| [0.2, 0.2][c]).1 - 1.0).abs() < 1e-12);
        let bounds = tree.bounds(high);
        assert_eq!(bounds.len(), 2);
        for (column, above, upto) in bounds {
            assert!((above - [0.5, 0.7][column]).abs() < 0.1 && upto == f64::INFINITY, "{column} {above} {upto}");
        }
    }

    #[test]
    fn nothing_is_cut_where_there_is_nothing_to_gain_or_too_few_rows() {
        let x: Vec<f64> = (0..50).map(f64::from).collect();
        assert_eq!(Tree::grow(&x, 1, &vec![2.0; 50], Growth { cells: 8, rows: 5 }).cells(), 1);
        let y: Vec<f64> = (0..50).map(|i| f64::from(i % 7)).collect();
        assert_eq!(Tree::grow(&x, 1, &y, Growth { cells: 8, rows: 30 }).cells(), 1);
        let none = Tree::grow(&[], 0, &[1.0, 2.0], Growth { cells: 8, rows: 1 });
        assert_eq!((none.cells(), none.cell(|_| 0.0)), (1, (0, 1.5)));
    }
}
