//! What a check may take of this machine: time, and memory, which the kernel is asked for.

use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::super::value;
use crate::checker::Budget;

/// A number of bytes: `512M`, `4G`, `65536`.
pub(in crate::cli) fn bytes(text: &str) -> Result<u64, String> {
    let units = [('K', 10), ('M', 20), ('G', 30)];
    let unit = units.iter().find(|(letter, _)| text.ends_with(*letter));
    let digits = unit.map_or(text, |_| &text[..text.len() - 1]);
    let count: u64 = digits
        .parse()
        .map_err(|_| format!("{text:?} is no size: 65536, 512M, 4G"))?;
    if count == 0 {
        return Err(no_limit("512M"));
    }
    let shift = unit.map_or(0, |(_, shift)| *shift);
    count
        .checked_mul(1 << shift)
        .ok_or_else(|| format!("the size {text:?} is too large"))
}

/// A time that is not nothing.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    match value::duration(text)? {
        Duration::ZERO => Err(no_limit("1s")),
        time => Ok(time),
    }
}

/// What is said of a limit of nothing; `least` is one that can be kept.
fn no_limit(least: &str) -> String {
    format!(
        "nothing can be done within nothing: give more, such as {least}, or leave the option out"
    )
}

/// The memory limit in bytes; zero when there is none. A checker asks through a plain function.
static MEMORY_LIMIT: AtomicU64 = AtomicU64::new(0);

pub(super) fn memory_is_over() -> bool {
    let limit = MEMORY_LIMIT.load(Ordering::Relaxed);
    limit > 0 && status_kib("VmRSS:").is_some_and(|resident| resident.saturating_mul(1024) > limit)
}

/// A size from the kernel's account of this process, in KiB; nothing where there is none.
pub(in crate::cli) fn status_kib(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches(" kB").trim().parse().ok()
}

/// Sets the limit in bytes; zero is none.
pub(super) fn set_memory_limit(bytes: u64) {
    MEMORY_LIMIT.store(bytes, Ordering::Relaxed);
}

/// How much is read between two looks at the memory.
const LOOK_EVERY: u64 = 4 << 20;

/// A limit that was reached before the history was read to its end.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(super) enum Limit {
    #[error("the history alone takes more than --memory-limit")]
    Memory,
    #[error("reading the history alone takes longer than --time-limit")]
    Time,
}

impl Limit {
    /// The one that is reached, if any is.
    pub(super) fn reached(budget: Budget) -> Option<Self> {
        if memory_is_over() {
            return Some(Self::Memory);
        }
        let deadline = budget.deadline?;
        (Instant::now() >= deadline).then_some(Self::Time)
    }

    /// The one that ended a stream.
    pub(super) fn behind(error: &std::io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

/// A file that is read, with an eye on the limits and on how far it is.
pub(super) struct Watched<R, F> {
    inner: R,
    budget: Budget,
    /// Told how many bytes were read, once in a while.
    tell: F,
    bytes: u64,
    looked: u64,
}

impl<R, F> Watched<R, F> {
    pub(super) fn new(inner: R, budget: Budget, tell: F) -> Self {
        Self {
            inner,
            budget,
            tell,
            bytes: 0,
            looked: 0,
        }
    }
}

impl<R: Read, F: FnMut(u64)> Read for Watched<R, F> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.bytes += length as u64;
        if self.bytes - self.looked >= LOOK_EVERY {
            self.looked = self.bytes;
            (self.tell)(self.bytes);
            if let Some(limit) = Limit::reached(self.budget) {
                return Err(std::io::Error::other(limit));
            }
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_unit() {
        assert_eq!(bytes("65536"), Ok(65536));
        assert_eq!(bytes("512M"), Ok(512 << 20));
        for wrong in ["", "M", "0", "-1", "1T", "99999999999G"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_limit_of_nothing_is_refused_with_the_remedy() {
        assert_eq!(time("90"), Ok(Duration::from_secs(90)));
        for refused in [time("0").err(), time("0h0s").err(), bytes("0M").err()] {
            let says = refused.expect("no limit");
            assert!(says.contains("leave the option out"), "{says}");
        }
    }
}
