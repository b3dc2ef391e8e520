//! Times and rates as people read them.

use std::time::Duration;

/// Things per second.
#[expect(clippy::cast_precision_loss, reason = "a rate is shown with one digit")]
pub(in crate::cli) fn rate(count: u64, elapsed: Duration) -> f64 {
    let seconds = elapsed.as_secs_f64();
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}

/// `1:02:03` or `2:03`.
pub(in crate::cli) fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}
