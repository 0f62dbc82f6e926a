//! The page's Content-Security-Policy: nothing may be loaded, and only our own style and script may run.
//!
//! The policy names the SHA-256 of the two inline texts, so that even markup that slipped past escaping could not run. The
//! hash is written out here (FIPS 180-4) because it seals two constants and guards no secret; a wrong one would make the
//! browser refuse our own script, which the browser test would see.

/// The policy for a page with this style and this script.
pub(crate) fn policy(style: &str, script: &str) -> String {
    let hash = |text: &str| base64(&sha256(text.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(style),
        hash(script)
    )
}

/// The primes, whose roots give the hash its constants.
fn primes() -> impl Iterator<Item = u32> {
    (2u32..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0))
}

/// The first 32 bits of the fractional part of the `degree`-th root of `p`, by whole numbers only.
fn root_bits(p: u32, degree: u32) -> u32 {
    // the largest r with r^degree <= p 2^(32 degree); r mod 2^32 are the bits
    let target = u128::from(p) << (32 * degree);
    let mut r: u128 = 0;
    for bit in (0..36).rev() {
        let next = r | (1 << bit);
        if next.checked_pow(degree).is_some_and(|power| power <= target) {
            r = next;
        }
    }
    r as u32
}

/// SHA-256 of the bytes.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let k: Vec<u32> = primes().take(64).map(|p| root_bits(p, 3)).collect();
    let mut state: Vec<u32> = primes().take(8).map(|p| root_bits(p, 2)).collect();
    let mut message = bytes.to_vec();
    message.push(0x80);
    let end = (bytes.len() + 9).next_multiple_of(64);
    message.resize(end, 0);
    message[end - 8..].copy_from_slice(&(8 * bytes.len() as u64).to_be_bytes());
    for chunk in message.chunks_exact(64) {
        let mut w: Vec<u32> = chunk.chunks_exact(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]])).collect();
        for t in 16..64 {
            let (a, b) = (w[t - 15], w[t - 2]);
            let s0 = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
            let s1 = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
            w.push(w[t - 16].wrapping_add(s0).wrapping_add(w[t - 7]).wrapping_add(s1));
        }
        let mut v = state.clone();
        for t in 0..64 {
            let (a, e) = (v[0], v[4]);
            let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = (e & v[5]) ^ (!e & v[6]);
            let t1 = v[7].wrapping_add(s1).wrapping_add(choice).wrapping_add(k[t]).wrapping_add(w[t]);
            let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let t2 = s0.wrapping_add((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
            v.rotate_right(1);
            v[4] = v[4].wrapping_add(t1);
            v[0] = t1.wrapping_add(t2);
        }
        for (s, v) in state.iter_mut().zip(v) {
            *s = s.wrapping_add(v);
        }
    }
    let mut out = [0; 32];
    for (slot, word) in out.chunks_exact_mut(4).zip(state) {
        slot.copy_from_slice(&word.to_be_bytes());
    }
    out
}

/// Base64 with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let word = three.iter().fold(0u32, |word, b| (word << 8) | u32::from(*b)) << (8 * (3 - three.len()));
        for i in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * i)) as usize & 63];
            out.push(if i <= three.len() { char::from(letter) } else { '=' });
        }
    }
    out
}
