//! Quantiles in a form that merges: exact up to [`EXACT`] distinct values, then a digest with accurate tails.
//!
//! A digest holds ascending (value, weight) pairs. When there are more than [`EXACT`], neighbours are averaged as long as the
//! weight of a pair stays below 4 n q (1 - q) / [`FINE`], q its level (the t-digest of Dunning, with tails that are finer): a
//! pair r rows from an end stands for at most 4 r / FINE rows, so the FINE / 4 rows at each end stay alone, and a level is
//! met within 1 / FINE whatever the number of rows. It is deterministic; merged in a fixed tree it gives the same bits everywhere.
//!
//! Whoever adds up a log gathers values as they come, and they are put in order when there are too many, or at the end: a row is then sorted
//! once or twice and not at every level of the tree.

use super::log::Block;
use crate::engine::Fold;
use serde::{Deserialize, Serialize};

/// Distinct values that are kept as they are.
pub const EXACT: usize = 65_536;

/// Pairs of a digest, about; see the file.
const FINE: f64 = 8192.0;

/// A distribution in pairs.
///
/// ```
/// use counterpoint::data::Digest;
/// let mut d = Digest::of([3.0, 1.0, 2.0].map(|v| (v, 1.0)).to_vec());
/// d.merge(&Digest::of(vec![(4.0, 1.0)]));
/// assert_eq!((d.quantile(0.5), d.quantile(1.0)), (2.5, 4.0));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    pairs: Vec<Pair>,
}

/// A value and the weight of the rows it stands for. Two numbers: a large log holds some ten million pairs while it is added up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Pair {
    value: f64,
    /// Below zero where the rows have different values, of which `value` is the mean.
    signed: f64,
}

impl Pair {
    fn weight(&self) -> f64 {
        self.signed.abs()
    }

    /// Whether all its rows have this value.
    fn exact(&self) -> bool {
        self.signed > 0.0
    }
}

impl Digest {
    /// The distribution of weighted values, in any order. Values of weight 0 are not there.
    pub fn of(values: Vec<(f64, f64)>) -> Self {
        let mut d = Digest::default();
        d.gather(values.into_iter());
        d.tidy();
        d
    }

    /// Adds another distribution.
    pub fn merge(&mut self, other: &Digest) {
        self.append(other);
        self.tidy();
    }

    /// Adds weighted values, to be put in order later.
    pub(crate) fn gather(&mut self, values: impl Iterator<Item = (f64, f64)>) {
        self.pairs.extend(values.filter(|(_, w)| *w > 0.0).map(|(value, signed)| Pair { value, signed }));
        self.spare();
    }

    /// Adds another distribution, to be put in order later.
    pub(crate) fn append(&mut self, other: &Digest) {
        self.pairs.extend_from_slice(&other.pairs);
        self.spare();
    }

    /// Puts in order what has become too much.
    fn spare(&mut self) {
        if self.pairs.len() > EXACT {
            self.tidy();
        }
    }

    /// Sum of weights.
    pub fn weight(&self) -> f64 {
        self.pairs.iter().map(Pair::weight).sum()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Sorts; joins equal values; averages neighbours if there are too many.
    pub(crate) fn tidy(&mut self) {
        sort(&mut self.pairs);
        self.pairs.dedup_by(|next, kept| {
            let same = next.value == kept.value && next.exact() && kept.exact();
            if same {
                kept.signed += next.signed;
            }
            same
        });
        if self.pairs.len() > EXACT {
            self.compress();
            self.pairs.shrink_to_fit(); // many digests wait to be merged, one a level of the tree and column
        }
    }

    fn compress(&mut self) {
        let n = self.weight();
        let mut before = 0.0;
        self.pairs.dedup_by(|next, kept| {
            let weight = kept.weight() + next.weight();
            let q = (before + 0.5 * weight) / n;
            let joins = weight <= 4.0 * n * q * (1.0 - q) / FINE && kept.value.is_finite() && next.value.is_finite();
            if joins {
                let value = kept.value + (next.value - kept.value) * (next.weight() / weight);
                let exact = kept.exact() && next.exact() && kept.value == next.value;
                *kept = Pair { value, signed: if exact { weight } else { -weight } };
            } else {
                before += kept.weight();
            }
            joins
        });
    }

    /// The quantile at a level with linear interpolation between rows ("type 7"): weights count rows.
    pub fn quantile(&self, level: f64) -> f64 {
        let h = level * (self.weight() - 1.0).max(0.0);
        let mut before = 0.0;
        let mut last: Option<(f64, f64)> = None;
        // a pair of equal rows is a flat piece, a mean the middle of its rows
        for p in &self.pairs {
            let span = (p.weight() - 1.0).max(0.0);
            let ends = if p.exact() { [before, before + span] } else { [before + 0.5 * span; 2] };
            for at in ends {
                if at >= h {
                    return last.map_or(p.value, |(x, v)| match p.value - v {
                        _ if at == h || v == p.value => p.value,
                        gap if gap.is_finite() => v + (h - x) / (at - x) * gap,
                        _ => v,
                    });
                }
                last = Some((at, p.value));
            }
            before += p.weight();
        }
        last.map_or(f64::NAN, |l| l.1)
    }

    /// Values and weights from the largest value down.
    pub fn heaviest(&self) -> impl Iterator<Item = (f64, f64)> {
        self.pairs.iter().rev().map(|p| (p.value, p.weight()))
    }

    /// The most frequent value with its weight, and how many different ones there are; pairs that are means count as one.
    pub fn most_frequent(&self) -> (f64, f64, usize) {
        let most = self
            .pairs
            .iter()
            .filter(|p| p.exact())
            .fold((0.0, 0.0), |m, p| if p.weight() > m.1 { (p.value, p.weight()) } else { m });
        (most.0, most.1, self.pairs.len())
    }
}

/// Pairs below which comparing is faster.
const FEW: usize = 512;

/// Sorts by value; equal values stay in their order. Byte after byte, from the last to the first, for many pairs: a pass moves every pair once.
fn sort(pairs: &mut Vec<Pair>) {
    if pairs.len() < FEW || pairs.is_sorted_by(|a, b| a.value.total_cmp(&b.value).is_le()) {
        return pairs.sort_by(|a, b| a.value.total_cmp(&b.value));
    }
    // bits that rise with the value, as in total_cmp
    let key = |p: &Pair| {
        let bits = p.value.to_bits();
        bits ^ (((bits as i64 >> 63) as u64) | 1 << 63)
    };
    let mut counts = [[0u32; 256]; 8];
    for p in pairs.iter() {
        key(p).to_le_bytes().iter().zip(&mut counts).for_each(|(byte, counts)| counts[*byte as usize] += 1);
    }
    let mut other = pairs.clone();
    for (k, counts) in counts.iter_mut().enumerate() {
        if counts.iter().any(|c| *c as usize == pairs.len()) {
            continue; // all are alike here
        }
        let mut before = 0;
        for count in counts.iter_mut() {
            before += std::mem::replace(count, before);
        }
        for p in pairs.iter() {
            let place = &mut counts[(key(p) >> (8 * k)) as usize & 0xff];
            other[*place as usize] = *p;
            *place += 1;
        }
        std::mem::swap(pairs, &mut other);
    }
}

/// The question: the distributions of all columns, each row counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantiles;

/// Its answer. Without rows there are no columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distributions {
    /// Of the contexts.
    pub contexts: Vec<Digest>,
    /// Of the actions.
    pub actions: Vec<Digest>,
    /// Of the costs.
    pub cost: Digest,
}

impl Distributions {
    fn columns(&mut self) -> impl Iterator<Item = &mut Digest> {
        self.contexts.iter_mut().chain(&mut self.actions).chain([&mut self.cost])
    }
}

impl Fold<Block> for Quantiles {
    type Partial = Distributions;

    fn zero(&self) -> Distributions {
        Distributions::default()
    }

    fn add(&self, b: &Block, into: &mut Distributions) {
        if into.cost.is_empty() {
            into.contexts.resize(b.x.len(), Digest::default());
            into.actions.resize(b.a.len(), Digest::default());
        }
        let columns = b.x.iter().chain(&b.a).chain([&b.y]);
        into.columns().zip(columns).for_each(|(d, c)| d.gather(c.iter().map(|v| (*v, 1.0))));
    }

    fn merge(&self, other: &Distributions, into: &mut Distributions) {
        if into.cost.is_empty() {
            return into.clone_from(other);
        }
        let theirs = other.contexts.iter().chain(&other.actions).chain([&other.cost]);
        into.columns().zip(theirs).for_each(|(a, b)| a.append(b));
    }

    fn spent(&self, partial: &mut Distributions) {
        *partial = Distributions::default();
    }

    fn finish(&self, answer: &mut Distributions) {
        answer.columns().for_each(Digest::tidy);
    }
}

/// The question: the distributions of the actions alone, which cost a fraction of those of all columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionQuantiles;

impl Fold<Block> for ActionQuantiles {
    type Partial = Vec<Digest>;

    fn zero(&self) -> Vec<Digest> {
        Vec::new()
    }

    fn add(&self, b: &Block, into: &mut Vec<Digest>) {
        into.resize(b.a.len(), Digest::default());
        into.iter_mut().zip(&b.a).for_each(|(d, c)| d.gather(c.iter().map(|v| (*v, 1.0))));
    }

    fn merge(&self, other: &Vec<Digest>, into: &mut Vec<Digest>) {
        match into.is_empty() {
            true => into.clone_from(other),
            false => into.iter_mut().zip(other).for_each(|(a, b)| a.append(b)),
        }
    }

    fn spent(&self, partial: &mut Vec<Digest>) {
        *partial = Vec::new();
    }

    fn finish(&self, answer: &mut Vec<Digest>) {
        answer.iter_mut().for_each(Digest::tidy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::anchors::quantile_sorted;

    /// Values by formula with a heavy upper tail.
    fn values(n: usize) -> Vec<f64> {
        let u = |i: usize| (i as f64 * 0.754_877_666_246_69).fract();
        (0..n).map(|i| (1.0 - u(i)).powf(-0.7) + if i % 10 == 0 { 0.0 } else { u(7 * i) }).collect()
    }

    fn in_blocks(values: &[f64], rows: usize) -> Digest {
        let mut blocks: Vec<Digest> =
            values.chunks(rows).map(|c| Digest::of(c.iter().map(|v| (*v, 1.0)).collect())).collect();
        while blocks.len() > 1 {
            blocks = blocks
                .chunks(2)
                .map(|pair| {
                    let mut d = pair[0].clone();
                    pair[1..].iter().for_each(|o| d.merge(o));
                    d
                })
                .collect();
        }
        blocks.swap_remove(0)
    }

    #[test]
    fn few_values_have_their_exact_quantiles() {
        for n in [1, 2, 3, 10, 5000] {
            let mut v = values(n);
            v.extend_from_within(..n / 3); // some twice
            let d = in_blocks(&v, 64);
            v.sort_by(f64::total_cmp);
            for level in [0.0, 0.01, 0.1, 0.25, 0.5, 0.77, 0.99, 1.0] {
                let (got, want) = (d.quantile(level), quantile_sorted(&v, level));
                assert!((got - want).abs() <= 1e-12 * want.abs(), "{n} rows at {level}: {got} {want}");
            }
        }
    }

    #[test]
    fn many_values_meet_every_level_and_the_ends_exactly() {
        let mut v = values(600_000);
        let d = in_blocks(&v, 1024);
        assert!(d.pairs.len() <= EXACT, "{} pairs", d.pairs.len());
        v.sort_by(f64::total_cmp);
        for level in [1e-5, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999] {
            let at = v.partition_point(|x| *x < d.quantile(level)) as f64 / v.len() as f64;
            // half a pair's width, which is 4 q (1 - q) / FINE, twice for the unlucky order of merges
            let most = 4.0 * level * (1.0 - level) / FINE + 1.0 / v.len() as f64;
            assert!((at - level).abs() <= most, "level {level} is met at {at}");
        }
        let top: Vec<f64> = d.heaviest().take(1000).map(|p| p.0).collect();
        let want: Vec<f64> = v.iter().rev().take(1000).copied().collect();
        assert_eq!(top, want);
        assert!((d.weight() - 600_000.0).abs() < 1e-6);
    }

    #[test]
    fn sorting_by_bytes_is_sorting_by_comparison() {
        let mut v = values(5000);
        v.extend([0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, -3.5, f64::MIN_POSITIVE]);
        v.extend(values(700).iter().map(|v| -v));
        v.extend_from_within(..900); // equal values, which keep their order
        let mut pairs: Vec<Pair> = v.iter().zip(1..).map(|(v, i)| Pair { value: *v, signed: f64::from(i) }).collect();
        let mut by_comparison = pairs.clone();
        by_comparison.sort_by(|a, b| a.value.total_cmp(&b.value));
        sort(&mut pairs);
        assert_eq!(pairs, by_comparison);
    }

    /// Gathered block by block in a tree, and merged eagerly in the same tree: the same bits.
    #[test]
    fn what_is_sorted_later_is_what_is_sorted_at_once() {
        let v: Vec<f64> = values(400_000).into_iter().map(|v| if v < 1.3 { 0.0 } else { v }).collect();
        let mut blocks: Vec<Digest> = v
            .chunks(1024)
            .map(|c| {
                let mut d = Digest::default();
                d.gather(c.iter().map(|v| (*v, 1.0)));
                d
            })
            .collect();
        while blocks.len() > 1 {
            let pair = |pair: &[Digest]| {
                let mut d = pair[0].clone();
                pair[1..].iter().for_each(|o| d.append(o));
                d
            };
            blocks = blocks.chunks(2).map(pair).collect();
        }
        blocks[0].tidy();
        assert_eq!(blocks[0], in_blocks(&v, 1024));
    }

    #[test]
    fn no_density_at_all_is_a_value_like_others() {
        let mut d = Digest::of(vec![(f64::NEG_INFINITY, 3.0), (1.0, 1.0), (2.0, 0.0)]);
        d.merge(&Digest::of(vec![(f64::NEG_INFINITY, 1.0)]));
        assert_eq!((d.weight(), d.quantile(0.5), d.quantile(1.0)), (5.0, f64::NEG_INFINITY, 1.0));
        assert_eq!(d.heaviest().collect::<Vec<_>>(), [(1.0, 1.0), (f64::NEG_INFINITY, 4.0)]);
    }
}
