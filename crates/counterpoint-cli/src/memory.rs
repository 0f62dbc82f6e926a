//! How much memory there is: a log that does not fit is refused with a remedy, before the system ends the process without one.
//!
//! What is not known is not a limit. Only Linux is asked: its free memory, that of the control group, and the shell's limit.

use counterpoint::{Error, Result};
use std::fs::read_to_string;

/// The share of free memory that the rows of a log may take; the rest is for what is made of them.
const SHARE: f64 = 0.7;

/// What the program needs beside its own code before it has read a row.
const FLOOR: u64 = 32 << 20;

/// Refuses a limit of the shell under which the first allocation that fails would end the process.
pub(crate) fn enough() -> Result<()> {
    match shell().filter(|left| *left < FLOOR) {
        Some(left) => Err(Error::data(format!("the shell leaves {} MB of memory to this program", left >> 20))
            .hint(format!("allow at least {} MB more: ulimit -v", (FLOOR - left).div_ceil(1 << 20)))),
        None => Ok(()),
    }
}

/// Bytes that the rows of a log may take.
pub(crate) fn for_rows() -> Option<u64> {
    free().map(|bytes| (bytes as f64 * SHARE) as u64)
}

/// Bytes of memory that are free, as far as this is known.
pub(crate) fn free() -> Option<u64> {
    [machine(), group(), shell()].into_iter().flatten().min()
}

fn machine() -> Option<u64> {
    number(&read_to_string("/proc/meminfo").ok()?, "MemAvailable:").map(|kilobytes| kilobytes * 1024)
}

fn group() -> Option<u64> {
    let read = |name: &str| read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok()?.trim().parse::<u64>().ok();
    Some(read("max")?.saturating_sub(read("current")?))
}

fn shell() -> Option<u64> {
    let limit = number(&read_to_string("/proc/self/limits").ok()?, "Max address space")?;
    let used = number(&read_to_string("/proc/self/status").ok()?, "VmSize:").unwrap_or_default() * 1024;
    Some(limit.saturating_sub(used))
}

/// A size as it is written: a number with K, M, G or T behind it for powers of 1024, or bytes.
pub(crate) fn size(text: &str) -> std::result::Result<u64, String> {
    let upper = text.to_ascii_uppercase();
    let plain = upper.trim_end_matches("IB").trim_end_matches('B');
    let power = "KMGT".find(plain.chars().last().unwrap_or_default()).map_or(0, |i| i as i32 + 1);
    let number = if power > 0 { &plain[..plain.len() - 1] } else { plain };
    let bytes = number.trim().parse::<f64>().ok().map(|n| n * 1024f64.powi(power));
    match bytes.filter(|b| b.is_finite() && *b >= f64::from(1 << 20)) {
        Some(bytes) => Ok(bytes as u64),
        None => Err("a size is a number of bytes, at least 1M, with K, M, G or T behind it: 2G".into()),
    }
}

/// The first number behind a name.
fn number(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_written() {
        assert_eq!(size("2G"), Ok(2 << 30));
        assert_eq!(size("1.5MiB"), Ok(3 << 19));
        assert_eq!((size("64mb"), size("3000000")), (Ok(64 << 20), Ok(3_000_000)));
        for wrong in ["", "G", "12K", "-1G", "much", "infG", "\u{130}"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_found_behind_their_names() {
        let text = "MemTotal: 100 kB\nMemAvailable:   2048 kB\nMax address space         unlimited            bytes\n";
        assert_eq!(number(text, "MemAvailable:"), Some(2048));
        assert_eq!(number(text, "Max address space"), None);
        assert_eq!(number(text, "SwapFree:"), None);
    }
}
