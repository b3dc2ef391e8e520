//! Times as the page tells them.

use std::time::{Duration, UNIX_EPOCH};

/// The last second of the year 9999, after which years have five digits.
const LAST_UNIX_S: u64 = 253_402_300_799;

/// A moment in UTC to the minute, `2026-11-22 22:59 UTC`; `-` where it is not known, or out of every clock's
/// range: a file may say anything.
pub(super) fn utc(unix_s: Option<u64>) -> String {
    let known = unix_s.filter(|seconds| *seconds <= LAST_UNIX_S);
    let moment = known.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
    let Some(moment) = moment else {
        return "-".to_owned();
    };
    let text = humantime::format_rfc3339_seconds(moment).to_string();
    // `2026-11-22T22:59:43Z`: the seconds are left out.
    let minutes = text.get(..16).unwrap_or(&text);
    format!("{} UTC", minutes.replace('T', " "))
}

/// How often something was seen; `-` where nothing tells.
pub(super) fn times(count: u64) -> String {
    match count {
        0 => "-".to_owned(),
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// A length in whole seconds: `1h 5m 3s`.
pub(super) fn length(time: Duration) -> String {
    humantime::format_duration(Duration::from_secs(time.as_secs())).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_in_utc_and_those_that_no_clock_shows_are_not() {
        assert_eq!(utc(Some(0)), "1970-01-01 00:00 UTC");
        assert_eq!(utc(Some(1_795_388_383)), "2026-11-22 22:59 UTC");
        assert_eq!(utc(Some(LAST_UNIX_S)), "9999-12-31 23:59 UTC");
        for unknown in [None, Some(LAST_UNIX_S + 1), Some(u64::MAX)] {
            assert_eq!(utc(unknown), "-");
        }
        assert_eq!(length(Duration::from_millis(3_903_500)), "1h 5m 3s");
    }
}
