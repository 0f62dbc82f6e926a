//! How much memory there is: a log that does not fit is refused with a remedy, before the system ends the process without one.
//!
//! What is not known is not a limit. Only Linux is asked: its free memory, that of the control group, and the shell's limit.

use std::fs::read_to_string;

/// The share of free memory that the rows of a log may take; the rest is for what is made of them.
const SHARE: f64 = 0.7;

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

/// The first number behind a name.
fn number(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_behind_their_names() {
        let text = "MemTotal: 100 kB\nMemAvailable:   2048 kB\nMax address space         unlimited            bytes\n";
        assert_eq!(number(text, "MemAvailable:"), Some(2048));
        assert_eq!(number(text, "Max address space"), None);
        assert_eq!(number(text, "SwapFree:"), None);
    }
}
