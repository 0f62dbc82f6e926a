//! Damage, in a seeded order.

/// A small generator (splitmix64), so that a failure can be found again by its number.
pub struct Dice(u64);

impl Dice {
    /// A generator by its seed.
    pub fn new(seed: u64) -> Self {
        Dice(seed)
    }

    /// The next number.
    #[allow(clippy::should_implement_trait)] // numbers without an end
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 where that is 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Bytes that matter in lengths and numbers.
const ODD: [&[u8]; 8] =
    [&[0xff; 4], &[0xff; 8], &[0; 8], &[0xff, 0xff, 0xff, 0x7f], &[0, 0, 0, 0x80], &[1, 0, 0, 0], b"9999999999", b"-"];

/// An example with one to six damages.
pub fn mutated(examples: &[Vec<u8>], words: &[&str], seed: u64) -> Vec<u8> {
    let mut dice = Dice::new(seed);
    let Some(example) = examples.get(dice.below(examples.len())) else { return Vec::new() };
    let mut out = example.clone();
    for _ in 0..=dice.below(6) {
        let at = dice.below(out.len() + 1);
        let length = 1 + dice.below(40);
        let to = (at + length).min(out.len());
        match dice.below(10) {
            0 if at < out.len() => out[at] ^= 1 << dice.below(8),
            1 if at < out.len() => out[at] = dice.next() as u8,
            2 => out.truncate(at),
            3 => drop(out.drain(at..to)),
            4 => {
                let piece = out[at..to].to_vec();
                out.splice(at..at, piece);
            }
            5 | 6 => {
                let word = words.get(dice.below(words.len())).map_or(&b""[..], |w| w.as_bytes());
                out.splice(at..at, word.iter().copied());
            }
            7 => digits(&mut out, &mut dice),
            8 => {
                let odd = ODD[dice.below(ODD.len())];
                let end = (at + odd.len()).min(out.len());
                out.splice(at..end, odd.iter().copied());
            }
            _ => {
                // a piece of another example
                let Some(other) = examples.get(dice.below(examples.len())) else { continue };
                let from = dice.below(other.len() + 1);
                let piece = other[from..(from + length).min(other.len())].to_vec();
                out.splice(at..to, piece);
            }
        }
    }
    out
}

/// Replaces a run of digits by another number: damage that leaves text readable.
fn digits(out: &mut Vec<u8>, dice: &mut Dice) {
    let number = |b: &u8| b.is_ascii_digit() || *b == b'.';
    let start = dice.below(out.len() + 1);
    let Some(from) = out[start..].iter().position(number).map(|p| p + start) else { return };
    let to = out[from..].iter().position(|b| !number(b)).map_or(out.len(), |p| p + from);
    const NUMBERS: [&str; 10] = ["0", "-1", "1", "2", "1e300", "1e-300", "65535", "4294967296", "0.5", "1e17"];
    out.splice(from..to, NUMBERS[dice.below(NUMBERS.len())].bytes());
}
