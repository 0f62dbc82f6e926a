//! Numbers side by side: short columns of rows, and arithmetic on them in vector registers.
//!
//! A *strip* is [`STRIP`] rows, and a [`Lane`] one number of each of them. Families and mean models are written for strips
//! with what is here: [`load`] and [`store`], the elementary functions of [`math`], and the two small matrix products of
//! [`product`]. Everything is generic over the scalar type (f64 or f32) and over the instruction set, which is chosen once
//! per block at run time; code that runs inside [`Simd::vectorize`](fearless_simd::Simd::vectorize) must be inlined there
//! to be compiled for it. There is no `unsafe` in any of it but for the two lines that let lanes lie in a mapped file.

pub(crate) mod math;
pub(crate) mod product;

use fearless_simd::{Simd, SimdBase, SimdFloatElement};
pub(crate) use math::{Elementary, V, splat};

/// Rows per strip: a multiple of twice the widest vector.
pub(crate) const STRIP: usize = 64;

/// One column of a strip.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Lane<T>(pub(crate) [T; STRIP]);

#[allow(unsafe_code)]
mod plain {
    use super::{Lane, Real};
    // SAFETY: an array of f32 or f64 (there is no other `Real`): all zeros are a value of it
    unsafe impl<T: Real> bytemuck::Zeroable for Lane<T> {}
    // SAFETY: as above, and 64 of either are a multiple of the alignment, so there is no padding
    unsafe impl<T: Real> bytemuck::Pod for Lane<T> {}
}

/// The two kinds of floating-point column.
pub(crate) trait Real: SimdFloatElement + bytemuck::Pod + Send + Sync {
    const ZERO: Self;
    const ONE: Self;
    fn of(v: f64) -> Self;
    fn f64(self) -> f64;
}

impl Real for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    #[inline(always)]
    fn of(v: f64) -> f64 {
        v
    }
    #[inline(always)]
    fn f64(self) -> f64 {
        self
    }
}

impl Real for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
    #[inline(always)]
    fn of(v: f64) -> f32 {
        v as f32
    }
    #[inline(always)]
    fn f64(self) -> f64 {
        f64::from(self)
    }
}

impl<T: Real> Lane<T> {
    /// Nothing in every row.
    pub(crate) const ZERO: Lane<T> = Lane([T::ZERO; STRIP]);
}

/// How many vectors make a lane.
#[inline(always)]
pub(crate) fn vectors<T: Elementary, S: Simd>() -> usize {
    STRIP / V::<T, S>::LEN
}

/// Vector number i of a lane.
#[inline(always)]
pub(crate) fn load<T: Elementary, S: Simd>(simd: S, lane: &Lane<T>, i: usize) -> V<T, S> {
    let n = V::<T, S>::LEN;
    V::<T, S>::from_slice(simd, &lane.0[i * n..(i + 1) * n])
}

/// Writes vector number i of a lane.
#[inline(always)]
pub(crate) fn store<T: Elementary, S: Simd>(v: V<T, S>, lane: &mut Lane<T>, i: usize) {
    let n = V::<T, S>::LEN;
    v.store_slice(&mut lane.0[i * n..(i + 1) * n]);
}
