//! Features of a strip from its contexts, as [`ContextMap::apply`] has them row by row: the same products in the same order, so the same bits.

use crate::features::ContextMap;
use crate::vector::{Elementary, Lane, V, load, splat, store, vectors};
use fearless_simd::Simd;

/// Fills the features of a map that [is products](ContextMap::is_products).
#[inline(never)]
pub(super) fn products<T: Elementary, S: Simd>(simd: S, map: &ContextMap, x: &[Lane<T>], out: &mut [Lane<T>]) {
    simd.vectorize(
        #[inline(always)]
        || match map {
            ContextMap::Quadratic => quadratic::<T, S>(simd, x, out),
            ContextMap::Cubic => {
                let (three, rest) = out.split_at_mut(x.len() * (x.len() + 1) * (x.len() + 2) / 6);
                triples::<T, S>(simd, x, three);
                let (two, one) = rest.split_at_mut(x.len() * (x.len() + 1) / 2);
                pairs::<T, S>(simd, x, two);
                themselves::<T, S>(simd, x, one);
            }
            _ => {
                let (two, one) = out.split_at_mut(x.len() * (x.len() + 1) / 2);
                pairs::<T, S>(simd, x, two);
                themselves::<T, S>(simd, &[], one);
            }
        },
    );
}

/// x_i^2 and sqrt(2) x_i x_j, then x and 1.
#[inline(always)]
fn quadratic<T: Elementary, S: Simd>(simd: S, x: &[Lane<T>], out: &mut [Lane<T>]) {
    let root = splat::<T, S>(simd, T::of(std::f64::consts::SQRT_2));
    let (two, one) = out.split_at_mut(x.len() * (x.len() + 1) / 2);
    let mut k = 0;
    for i in 0..x.len() {
        for j in i..x.len() {
            for v in 0..vectors::<T, S>() {
                let (a, b) = (load::<T, S>(simd, &x[i], v), load::<T, S>(simd, &x[j], v));
                store::<T, S>(if i == j { a * b } else { root * a * b }, &mut two[k], v);
            }
            k += 1;
        }
    }
    themselves::<T, S>(simd, x, one);
}

/// x_i x_j x_l
#[inline(always)]
fn triples<T: Elementary, S: Simd>(simd: S, x: &[Lane<T>], out: &mut [Lane<T>]) {
    let mut k = 0;
    for i in 0..x.len() {
        for j in i..x.len() {
            for l in j..x.len() {
                for v in 0..vectors::<T, S>() {
                    let at = |lane: &Lane<T>| -> V<T, S> { load::<T, S>(simd, lane, v) };
                    store::<T, S>(at(&x[i]) * at(&x[j]) * at(&x[l]), &mut out[k], v);
                }
                k += 1;
            }
        }
    }
}

/// x_i x_j
#[inline(always)]
fn pairs<T: Elementary, S: Simd>(simd: S, x: &[Lane<T>], out: &mut [Lane<T>]) {
    let mut k = 0;
    for i in 0..x.len() {
        for j in i..x.len() {
            for v in 0..vectors::<T, S>() {
                store::<T, S>(load::<T, S>(simd, &x[i], v) * load::<T, S>(simd, &x[j], v), &mut out[k], v);
            }
            k += 1;
        }
    }
}

/// x, then 1.
#[inline(always)]
fn themselves<T: Elementary, S: Simd>(simd: S, x: &[Lane<T>], out: &mut [Lane<T>]) {
    let (last, rest) = (out.len() - 1, x.len());
    for (to, from) in out.iter_mut().zip(x) {
        for v in 0..vectors::<T, S>() {
            store::<T, S>(load::<T, S>(simd, from, v), to, v);
        }
    }
    debug_assert_eq!(last, rest);
    for v in 0..vectors::<T, S>() {
        store::<T, S>(splat::<T, S>(simd, T::ONE), &mut out[last], v);
    }
}
