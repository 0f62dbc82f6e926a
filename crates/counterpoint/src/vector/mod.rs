//! Numbers side by side: short columns of rows, and arithmetic on them in vector registers.
//!
//! A *strip* is [`STRIP`] rows, and a [`Lane`] one number of each of them. Families and mean models are written for strips
//! with what is here: [`load`] and [`store`], the elementary functions of [`math`], and the two small matrix products of
//! [`product`]. Everything is generic over the scalar type (f64 or f32) and over the instruction set, which is chosen once
//! per block at run time, and which changes no bit of what comes out (below); code that runs inside [`Simd::vectorize`](fearless_simd::Simd::vectorize) must be inlined there
//! to be compiled for it. There is no `unsafe` in any of it but for the two lines that let lanes lie in a mapped file, and the one that asks for
//! a cache line.

mod level;
pub(crate) mod math;
pub(crate) mod product;

use fearless_simd::{Simd, SimdBase, SimdFloatElement};
pub use level::Instructions;
#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
pub(crate) use level::with_token;
pub(crate) use level::{dispatch, level};
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

/// Asks for the cache line in which a number lies, and does not wait for it; where there is no such instruction it is read.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn fetch<T: Real>(number: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: it reads nothing that the program sees, from a place that a reference names
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(number).cast()) }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    std::hint::black_box(*number);
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

// Why every machine gives the same bits. What a row becomes is computed element by element, with fused multiply-adds that
// are correctly rounded everywhere (`mul_add_precise`: one instruction on AVX2, AVX-512 and NEON, exactly emulated elsewhere).
// What is summed over rows is summed in virtual vectors of 64 bytes, whatever the registers hold: row i of a strip belongs
// to place i mod 8 (f32: 16), each place is summed in the order of the rows, and the places are added up in one fixed tree
// ([`Elementary::total`]). Narrow registers take a virtual vector in parts, one part after the other.

/// Numbers in a virtual vector: as many as 64 bytes hold, the width of the widest registers.
#[inline(always)]
pub(crate) const fn width<T>() -> usize {
    64 / size_of::<T>()
}

/// How many vectors make a virtual one.
#[inline(always)]
pub(crate) fn parts<T: Elementary, S: Simd>() -> usize {
    width::<T>() / V::<T, S>::LEN
}

/// Virtual vectors of a lane.
#[inline(always)]
pub(crate) const fn turns<T>() -> usize {
    STRIP / width::<T>()
}

/// Adds up a virtual vector's sums over a strip: `term(i, sum)` adds vector number i of a lane to the sum it is given.
/// The parts of a virtual vector are summed one after the other, so that each sum stays in a register.
#[inline(always)]
pub(crate) fn add_up<T: Elementary, S: Simd>(simd: S, acc: &mut [T], mut term: impl FnMut(usize, V<T, S>) -> V<T, S>) {
    let n = V::<T, S>::LEN;
    for (part, acc) in acc[..width::<T>()].chunks_exact_mut(n).enumerate() {
        let mut sum = V::<T, S>::from_slice(simd, acc);
        for turn in 0..turns::<T>() {
            sum = term(turn * parts::<T, S>() + part, sum);
        }
        sum.store_slice(acc);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What the two unsafe lines promise, for both types: every byte of a lane belongs to a number, and all zeros are a lane. Miri runs it.
    fn holds<T: Real + PartialEq + std::fmt::Debug>() {
        let lanes: Vec<Lane<T>> = (0..3).map(|k| Lane(std::array::from_fn(|i| T::of((100 * k + i) as f64)))).collect();
        let bytes: &[u8] = bytemuck::cast_slice(&lanes);
        assert_eq!(bytes.len(), 3 * STRIP * size_of::<T>());
        let numbers: &[T] = bytemuck::cast_slice(bytes);
        assert_eq!((numbers[STRIP + 1], numbers[3 * STRIP - 1]), (T::of(101.0), T::of(263.0)));
        let back: &[Lane<T>] = bytemuck::cast_slice(bytes);
        assert_eq!(back[2].0, lanes[2].0);
        assert_eq!(<Lane<T> as bytemuck::Zeroable>::zeroed().0, Lane::<T>::ZERO.0);
    }

    #[test]
    fn lanes_are_their_numbers_and_nothing_else() {
        holds::<f64>();
        holds::<f32>();
    }
}
