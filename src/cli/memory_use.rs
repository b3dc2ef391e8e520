//! How much memory this process takes, by the kernel's account of it.

/// What is in memory now, in bytes; none where the kernel gives no account.
pub(super) fn resident_bytes() -> Option<u64> {
    kibibytes("VmRSS:").map(|kib| kib.saturating_mul(1024))
}

/// The most that was in memory at once, in mebibytes; none where the kernel gives no account.
pub(super) fn peak_mebibytes() -> Option<u64> {
    kibibytes("VmHWM:").map(|kib| kib / 1024)
}

fn kibibytes(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches(" kB").trim().parse().ok()
}
