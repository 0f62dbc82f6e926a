//! Randomness that can be replayed in any order: one ChaCha8 stream per (seed, purpose, index).
//!
//! A generator is named by what it is for, so that adding a use somewhere cannot change the numbers elsewhere, and
//! block 7 draws the same numbers whether or not blocks 0 to 6 were drawn before it.

mod draw;

pub(crate) use draw::{Poisson, StandardNormal};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

/// What a stream of random numbers is used for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// Starting points of the optimiser.
    Start = 1,
    /// k-means++ seeding.
    Centres = 2,
    /// Actions drawn from a policy.
    Act = 3,
    /// Actions drawn for the expectation of a loss model.
    Model = 17,
    /// First weights of a network, and the order in which it sees rows.
    Network = 21,
    /// Multiplicities of rows in the replicates of a bootstrap.
    Bootstrap = 16,
}

/// The generator for one purpose and one index (a block, a restart, a row).
pub(crate) fn stream(seed: u64, purpose: Purpose, index: u64) -> ChaCha8Rng {
    let mut key = [0u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&(purpose as u64).to_le_bytes());
    let mut rng = ChaCha8Rng::from_seed(key);
    rng.set_stream(index);
    rng
}

/// A 64-bit hash of a seed and a row number: the same row falls in the same part on every machine.
///
/// (The finaliser of SplitMix64.)
pub(crate) fn hash(seed: u64, row: u64) -> u64 {
    let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(row).wrapping_add(0x9e37_79b9_7f4a_7c15);
    for m in [0xbf58_476d_1ce4_e5b9u64, 0x94d0_49bb_1331_11eb] {
        z = (z ^ (z >> 30)).wrapping_mul(m);
    }
    z ^ (z >> 31)
}
