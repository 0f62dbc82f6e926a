//! The names of what is added up: terms of a row, and sums of terms and of their products.

use std::ops::{Index, IndexMut};

/// What a row contributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// The weighted part; for ByRows the whole term.
    T,
    /// The transformed weight.
    V,
    /// The model part; for ByRows 0.
    G,
    /// The entropy of the policy.
    H,
}

impl Term {
    /// Every term.
    pub const ALL: [Term; 4] = [Term::T, Term::V, Term::G, Term::H];
}

/// A sum over rows that can have a gradient: of a term, or of a product of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// sum t
    T,
    /// sum v
    V,
    /// sum g
    G,
    /// sum t t
    TT,
    /// sum t v
    TV,
    /// sum v v
    VV,
    /// sum g g
    GG,
    /// sum t g
    TG,
    /// sum v g
    VG,
    /// sum h
    H,
}

impl Sum {
    /// Every sum.
    pub const ALL: [Sum; 10] = [Sum::T, Sum::V, Sum::G, Sum::TT, Sum::TV, Sum::VV, Sum::GG, Sum::TG, Sum::VG, Sum::H];

    /// The term that is added up, and what it is multiplied with.
    pub fn factors(self) -> (Term, Option<Term>) {
        match self {
            Sum::T => (Term::T, None),
            Sum::V => (Term::V, None),
            Sum::G => (Term::G, None),
            Sum::H => (Term::H, None),
            Sum::TT => (Term::T, Some(Term::T)),
            Sum::TV => (Term::T, Some(Term::V)),
            Sum::VV => (Term::V, Some(Term::V)),
            Sum::GG => (Term::G, Some(Term::G)),
            Sum::TG => (Term::T, Some(Term::G)),
            Sum::VG => (Term::V, Some(Term::G)),
        }
    }

    /// How often the weight is a factor: sums of weights in other units differ by the ratio of the units to this power.
    ///
    /// ```
    /// use counterpoint::estimate::Sum;
    /// assert_eq!([Sum::V, Sum::TV, Sum::VG, Sum::GG].map(Sum::weight_power), [1, 2, 1, 0]);
    /// ```
    pub fn weight_power(self) -> i32 {
        let weighted = |t: Term| i32::from(matches!(t, Term::T | Term::V));
        let (a, b) = self.factors();
        weighted(a) + b.map_or(0, weighted)
    }
}

/// Something for every term.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PerTerm<T>([T; 4]);

/// Something for every sum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PerSum<T>([T; 10]);

impl<T> PerTerm<T> {
    /// By a function of the term.
    pub fn from_fn(f: impl FnMut(Term) -> T) -> Self {
        PerTerm(Term::ALL.map(f))
    }
}

impl PerTerm<f64> {
    /// A row of the plain form: t = v y, no model part, no entropy.
    pub fn plain(v: f64, y: f64) -> Self {
        PerTerm([v * y, v, 0.0, 0.0])
    }

    /// What these terms add to a sum.
    pub fn product(&self, sum: Sum) -> f64 {
        let (a, b) = sum.factors();
        self[a] * b.map_or(1.0, |b| self[b])
    }

    /// How what they add to a sum moves with each of them: the product rule.
    pub fn chain(&self, sum: Sum) -> PerTerm<f64> {
        let mut out = PerTerm::default();
        match sum.factors() {
            (a, None) => out[a] = 1.0,
            (a, Some(b)) => {
                out[a] += self[b];
                out[b] += self[a];
            }
        }
        out
    }
}

impl<T> Index<Term> for PerTerm<T> {
    type Output = T;
    fn index(&self, term: Term) -> &T {
        &self.0[term as usize]
    }
}

impl<T> IndexMut<Term> for PerTerm<T> {
    fn index_mut(&mut self, term: Term) -> &mut T {
        &mut self.0[term as usize]
    }
}

impl<T> Index<Sum> for PerSum<T> {
    type Output = T;
    fn index(&self, sum: Sum) -> &T {
        &self.0[sum as usize]
    }
}

impl<T> IndexMut<Sum> for PerSum<T> {
    fn index_mut(&mut self, sum: Sum) -> &mut T {
        &mut self.0[sum as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_is_the_slope_of_the_product() {
        let terms = PerTerm([0.7, -1.3, 2.1, 0.4]);
        for sum in Sum::ALL {
            for term in Term::ALL {
                let moved = |h: f64| {
                    let mut t = terms.clone();
                    t[term] += h;
                    t.product(sum)
                };
                let d = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!((terms.chain(sum)[term] - d).abs() < 1e-9, "{sum:?} {term:?}");
            }
        }
    }

    #[test]
    fn every_name_has_its_own_place() {
        for (i, sum) in Sum::ALL.into_iter().enumerate() {
            assert_eq!(sum as usize, i);
        }
        for (i, term) in Term::ALL.into_iter().enumerate() {
            assert_eq!(term as usize, i);
        }
    }
}
