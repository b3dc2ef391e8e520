//! The time of day, for what is stamped with it: no case and no verdict depends on it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970, UTC; 0 where the clock is set before that.
#[expect(
    clippy::disallowed_methods,
    reason = "what happens is stamped with the time of day"
)]
pub fn unix_seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}
