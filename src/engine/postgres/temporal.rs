//! Dates and times, from their binary form to the text that the server reads back.

use tokio_postgres::types::Type;

/// From 1970-01-01 to 2000-01-01, where PostgreSQL counts from.
const EPOCH_DAYS: i64 = 10_957;

const MICROSECONDS_OF_A_DAY: i64 = 86_400_000_000;

/// The text of a date or a time, as `date_send`, `time_send`, `timestamp_send` and `timestamptz_send` write
/// them. None where it is not that, for infinities, and for years beyond 1 to 9999.
pub(super) fn temporal(ty: &Type, raw: &[u8]) -> Option<String> {
    if *ty == Type::DATE {
        return date(i32::from_be_bytes(raw.try_into().ok()?).into());
    }
    let microseconds = i64::from_be_bytes(raw.try_into().ok()?);
    if *ty == Type::TIME {
        return Some(time(microseconds));
    }
    let day = date(microseconds.div_euclid(MICROSECONDS_OF_A_DAY))?;
    let time = time(microseconds.rem_euclid(MICROSECONDS_OF_A_DAY));
    let zone = if *ty == Type::TIMESTAMPTZ { "+00" } else { "" };
    Some(format!("{day} {time}{zone}"))
}

/// The date so many days after 2000-01-01. Days to civil dates as in Howard Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms".
fn date(days: i64) -> Option<String> {
    let from_march_0 = days + EPOCH_DAYS + 719_468;
    let era = from_march_0.div_euclid(146_097);
    let of_era = from_march_0.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (1..=9999)
        .contains(&year)
        .then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// A time of the day, with six digits behind the second where it is not whole.
fn time(microseconds: i64) -> String {
    let (seconds, rest) = (microseconds / 1_000_000, microseconds % 1_000_000);
    let whole = format!(
        "{:02}:{:02}:{:02}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    );
    if rest == 0 {
        whole
    } else {
        format!("{whole}.{rest:06}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_read_as_the_server_prints_them() {
        let days = |number: i32| temporal(&Type::DATE, &number.to_be_bytes());
        assert_eq!(days(0).as_deref(), Some("2000-01-01"));
        assert_eq!(days(-1).as_deref(), Some("1999-12-31"));
        assert_eq!(days(8_825).as_deref(), Some("2024-02-29"));
        assert_eq!(days(i32::MAX), None, "infinity");
        let day = MICROSECONDS_OF_A_DAY;
        let at = |ty: &Type, number: i64| temporal(ty, &number.to_be_bytes());
        let noon = at(&Type::TIMESTAMP, -day / 2);
        assert_eq!(noon.as_deref(), Some("1999-12-31 12:00:00"));
        let last = at(&Type::TIMESTAMPTZ, 8_826 * day - 500_000);
        assert_eq!(last.as_deref(), Some("2024-02-29 23:59:59.500000+00"));
        assert_eq!(
            at(&Type::TIME, day - 1_000_000).as_deref(),
            Some("23:59:59")
        );
    }
}
