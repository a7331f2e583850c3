//! What the figures are of: processor, system and pages.

use std::fs;

/// The processor, as the system calls it, its caches and the system's version.
pub(super) fn describe() -> String {
    let processor = value_in("/proc/cpuinfo", "model name");
    let parts = [
        Some(processor.unwrap_or_else(|| std::env::consts::ARCH.to_owned())),
        fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index2/size")
            .ok()
            .map(|size| format!("L2 {}", size.trim())),
        fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size")
            .ok()
            .map(|size| format!("L3 {}", size.trim())),
        fs::read_to_string("/proc/sys/kernel/osrelease")
            .ok()
            .map(|release| format!("{} {}", std::env::consts::OS, release.trim())),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What is known of the pages: what was asked for, and what the system gave.
pub(super) fn pages() -> String {
    let asked = "kept and touched before, aligned to 2 MiB, advised to be large";
    match large_bytes() {
        Some(large) => format!("{asked}; {} MiB on large pages at the end", large >> 20),
        None => asked.to_owned(),
    }
}

/// Bytes of this process on large pages, where the system says.
fn large_bytes() -> Option<u64> {
    let value = value_in("/proc/self/smaps_rollup", "AnonHugePages")?;
    let kib: u64 = value.split_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

/// What stands behind a name and a colon, the first of them.
fn value_in(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
