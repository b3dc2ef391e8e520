//! Numbers, times and sizes, as they are typed after an option and as they are printed.

use std::fmt::Write as _;
use std::num::{IntErrorKind, ParseIntError};
use std::time::Duration;

/// Units of time with their seconds, largest first.
const TIMES: [(char, u64); 4] = [('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)];

/// Units of size with the bits that they shift a number of bytes.
const SIZES: [(char, u32); 3] = [('K', 10), ('M', 20), ('G', 30)];

/// Reads `30s`, `10m`, `1h30m`, `2d`. A number needs its unit, for 10 seconds and 10 minutes are
/// far apart; `0` needs none.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a time: write 30s, 10m, 1h30m or 2d");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    if is_number(text) {
        return Err(format!(
            "{text:?} has no unit: write {text}s, {text}m or {text}h"
        ));
    }
    let too_long = || format!("the time {text:?} is too long: leave the option out for no limit");
    let mut seconds = 0_u64;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let (digits, unit) = rest.split_at(end);
        let mut unit = unit.chars();
        let (_, factor) = unit
            .next()
            .and_then(|unit| TIMES.into_iter().find(|(known, _)| *known == unit))
            .ok_or_else(wrong)?;
        let number = digits
            .parse::<u64>()
            .map_err(|error| if is_huge(&error) { too_long() } else { wrong() })?;
        let part = number.checked_mul(factor).ok_or_else(too_long)?;
        seconds = seconds.checked_add(part).ok_or_else(too_long)?;
        rest = unit.as_str();
    }
    match text.is_empty() {
        true => Err(wrong()),
        false => Ok(Duration::from_secs(seconds)),
    }
}

/// Reads a time that is a limit: nothing can be done in no time.
pub(super) fn time_limit(text: &str) -> Result<Duration, String> {
    match time(text)? {
        Duration::ZERO => Err(no_limit("1s")),
        time => Ok(time),
    }
}

/// Writes whole seconds as [`time`] reads them: `1h30m`.
pub(super) fn shown_time(time: Duration) -> String {
    let mut text = String::new();
    let mut rest = time.as_secs();
    for (unit, seconds) in TIMES {
        if rest >= seconds {
            // Writing to a String cannot fail.
            let _ = write!(text, "{}{unit}", rest / seconds);
            rest %= seconds;
        }
    }
    match text.is_empty() {
        true => "0s".to_owned(),
        false => text,
    }
}

/// How long ago a moment is, in its largest unit: `40s`, `5m`, `3h`, `12d`. Both in seconds since 1970;
/// a moment to come is `0s` ago, for clocks are set back.
pub(super) fn ago(now: u64, then: u64) -> String {
    let seconds = now.saturating_sub(then);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..172_800 => format!("{}h", seconds / 3_600),
        172_800.. => format!("{}d", seconds / 86_400),
    }
}

/// Reads a size that is a limit, in bytes: `512M`, `4G`.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a size: write 512M or 4G");
    if is_number(text) && text.contains(|c| c != '0') {
        return Err(format!("{text:?} has no unit: write {text}M or {text}G"));
    }
    let too_large = || format!("the size {text:?} is too large");
    let unit = SIZES.iter().find(|(letter, _)| text.ends_with(*letter));
    let digits = unit.map_or(text, |_| &text[..text.len() - 1]);
    let count = digits.parse::<u64>().map_err(|error| {
        if is_huge(&error) {
            too_large()
        } else {
            wrong()
        }
    })?;
    if count == 0 {
        return Err(no_limit("512M"));
    }
    let shift = unit.map_or(0, |(_, shift)| *shift);
    count.checked_mul(1 << shift).ok_or_else(too_large)
}

/// The message for a limit of zero; `least` is one that can be kept.
fn no_limit(least: &str) -> String {
    format!(
        "nothing can be done within nothing: give more, such as {least}, or leave the option out"
    )
}

/// Whether a text that is no number has too many digits for one.
fn is_huge(error: &ParseIntError) -> bool {
    *error.kind() == IntErrorKind::PosOverflow
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads a whole number from 0.
pub(super) fn number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// Reads a whole number from 1.
pub(super) fn positive(text: &str) -> Result<u64, String> {
    match number(text) {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("expected a whole number from 1 to {}", u64::MAX)),
    }
}

/// Seconds to the millisecond, as lines of JSON give a time.
pub(super) fn json_seconds(time: Duration) -> f64 {
    rounded(time.as_secs_f64(), 3)
}

/// A number to so many digits after the point.
pub(super) fn rounded(number: f64, digits: i32) -> f64 {
    let unit = 10_f64.powi(digits);
    (number * unit).round() / unit
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let seconds = |text| time(text).map(|time| time.as_secs());
        assert_eq!(seconds("30s"), Ok(30));
        assert_eq!(seconds("1h30m"), Ok(5400));
        assert_eq!(seconds("2d"), Ok(172_800));
        assert_eq!(seconds("0"), Ok(0));
        for wrong in ["", "m", "10x", "1h30", "-5s", "1.5h", "1\u{e9}", "soon"] {
            let error = time(wrong).expect_err(wrong);
            assert!(error.contains("1h30m"), "{error}");
        }
    }

    #[test]
    fn a_number_without_a_unit_is_refused_with_the_units_it_may_have() {
        let error = time("10").expect_err("no unit");
        assert!(error.contains("10s, 10m or 10h"), "{error}");
        let error = size("512").expect_err("no unit");
        assert!(error.contains("512M or 512G"), "{error}");
    }

    #[test]
    fn too_much_is_said_to_be_too_much() {
        for long in ["99999999999999999999s", "18446744073709551615d"] {
            assert!(time(long).expect_err(long).contains("too long"));
        }
        for large in ["99999999999G", "99999999999999999999M"] {
            assert!(size(large).expect_err(large).contains("too large"));
        }
    }

    #[test]
    fn sizes_are_read_with_their_unit() {
        assert_eq!(size("64K"), Ok(64 << 10));
        assert_eq!(size("512M"), Ok(512 << 20));
        assert_eq!(size("4G"), Ok(4 << 30));
        for wrong in ["", "M", "-1M", "1T", "1.5G"] {
            assert!(size(wrong).expect_err(wrong).contains("512M"));
        }
    }

    #[test]
    fn a_limit_of_nothing_is_refused_with_the_remedy() {
        let refused = [time_limit("0"), time_limit("0h0s")].map(Result::err);
        let sizes = [size("0"), size("0M")].map(Result::err);
        for error in refused.into_iter().chain(sizes) {
            let error = error.expect("no limit");
            assert!(error.contains("leave the option out"), "{error}");
        }
        assert_eq!(time_limit("90s"), Ok(Duration::from_secs(90)));
    }

    #[test]
    fn numbers_say_their_bounds() {
        assert_eq!(positive("1"), Ok(1));
        for wrong in ["0", "-1", "1.5", "many", "18446744073709551616"] {
            assert!(
                positive(wrong)
                    .expect_err(wrong)
                    .contains("from 1 to 18446744073709551615")
            );
        }
        assert_eq!(number("0"), Ok(0));
    }

    #[test]
    fn ages_are_told_in_the_largest_unit_that_says_enough() {
        let told = [0, 59, 60, 3_599, 3_600, 7_300, 172_799, 172_800, 864_000];
        let told = told.map(|seconds| ago(1_000_000 + seconds, 1_000_000));
        assert_eq!(
            told,
            ["0s", "59s", "1m", "59m", "1h", "2h", "47h", "2d", "10d"]
        );
        assert_eq!(ago(5, 10), "0s", "a clock was set back");
    }

    proptest! {
        #[test]
        fn a_time_that_is_printed_is_read_back(seconds: u64) {
            let wanted = Duration::from_secs(seconds);
            prop_assert_eq!(time(&shown_time(wanted)), Ok(wanted));
        }
    }
}
