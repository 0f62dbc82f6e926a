//! A checksum against damage: one flipped bit, a swapped byte, a cut end. It is no seal against forgery.

/// FNV-1a with 64 bits: every step is one-to-one, so a change of one byte always shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Checksum(u64);

impl Default for Checksum {
    fn default() -> Self {
        Checksum(0xcbf2_9ce4_8422_2325)
    }
}

impl Checksum {
    /// Of some bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut sum = Checksum::default();
        sum.add(bytes);
        sum
    }

    /// More bytes.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Of some numbers, in four lanes, so that the processor need not wait for one product before it starts the next: as fast as memory is
    /// read. Each number changes one lane, and all four end in the result, so a change of one number always shows.
    #[cfg(feature = "readers")]
    pub(crate) fn of_words(words: &[u64]) -> Self {
        let mut lanes = [0u64; 4].map(|_| Checksum::default());
        let fours = words.chunks_exact(4);
        let rest = fours.remainder();
        for four in fours {
            lanes.iter_mut().zip(four).for_each(|(lane, word)| lane.add_word(*word));
        }
        let mut sum = Checksum::default();
        rest.iter().chain(&lanes.map(|l| l.0)).chain(&[words.len() as u64]).for_each(|w| sum.add_word(*w));
        sum
    }

    /// As a number.
    #[cfg(feature = "readers")]
    pub(crate) fn value(self) -> u64 {
        self.0
    }

    /// One number, as one step.
    ///
    /// The product alone carries differences upwards only: one in the highest bit, a sign, would stay there, and two wrong signs would
    /// cancel. Folding the upper half onto the lower one brings it back into play.
    #[cfg(feature = "readers")]
    #[inline]
    pub(crate) fn add_word(&mut self, word: u64) {
        let product = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }
}

/// Sixteen hexadecimal digits.
impl std::fmt::Display for Checksum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(all(test, feature = "readers"))]
mod tests {
    use super::*;

    #[test]
    fn two_changes_of_the_same_bit_do_not_cancel() {
        let of = |words: &[u64]| {
            let mut sum = Checksum::default();
            words.iter().for_each(|w| sum.add_word(*w));
            sum
        };
        let words: Vec<u64> = (1..9u32).map(|i| f64::from(i).to_bits()).collect();
        for bit in 0..64 {
            for (first, second) in [(0, 1), (0, 7), (3, 5)] {
                let mut other = words.clone();
                other[first] ^= 1 << bit;
                other[second] ^= 1 << bit;
                assert_ne!(of(&other), of(&words), "bit {bit} of words {first} and {second}");
            }
        }
    }
}
