//! One statement and its answer, in one round trip, with typed cells.
//!
//! The extended protocol gives cells in their binary form, typed by their columns. Types whose
//! form is not read here are kept as those bytes: equal values stay equal.

use std::error::Error as StdError;
use std::pin::pin;

use futures_util::TryStreamExt;
use tokio_postgres::types::{FromSql, Type};
use tokio_postgres::{Client, Error};

use super::temporal::temporal;
use crate::model::{Outcome, Value};

/// A statement has no parameters.
const NO_PARAMETERS: [(&str, Type); 0] = [];

/// An answer, and the count of its command tag where rows came with it.
pub(super) type CountedOutcome = (Outcome, Option<u64>);

/// Sends a statement and reads the whole answer.
pub(super) async fn answer(client: &Client, sql: &str) -> Result<CountedOutcome, Error> {
    let mut stream = pin!(client.query_typed_raw(sql, NO_PARAMETERS).await?);
    let mut rows = Vec::new();
    let mut has_columns = false;
    while let Some(row) = stream.try_next().await? {
        has_columns = true;
        let cells = (0..row.len()).map(|at| row.try_get::<_, TypedCell>(at).map(|cell| cell.0));
        rows.push(cells.collect::<Result<Vec<Value>, Error>>()?);
    }
    let count = stream.rows_affected();
    if has_columns {
        return Ok((Outcome::Rows(rows), count));
    }
    // The driver does not say whether an answer without rows had columns.
    let returns_rows = match returns_rows(sql) {
        Some(known) => known,
        None => !client.prepare(sql).await?.columns().is_empty(),
    };
    Ok(if returns_rows {
        (Outcome::Rows(rows), count)
    } else {
        (Outcome::Affected(count.unwrap_or(0)), None)
    })
}

/// Whether a statement has a result set, as its words say; none where only the server knows.
fn returns_rows(sql: &str) -> Option<bool> {
    let upper = sql.to_ascii_uppercase();
    let has = |word: &str| {
        upper
            .split(|c: char| !c.is_alphanumeric())
            .any(|w| w == word)
    };
    match upper.split_whitespace().next()? {
        "SELECT" => (!has("INTO")).then_some(true),
        "SHOW" | "VALUES" | "TABLE" => Some(true),
        "INSERT" | "UPDATE" | "DELETE" | "MERGE" => (!has("RETURNING")).then_some(false),
        "BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "ABORT" | "SAVEPOINT" | "RELEASE"
        | "SET" | "RESET" | "CREATE" | "DROP" | "ALTER" | "TRUNCATE" | "LOCK" => Some(false),
        _ => None,
    }
}

/// A cell of any type.
struct TypedCell(Value);

impl<'a> FromSql<'a> for TypedCell {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(typed(ty, raw)))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(Value::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn typed(ty: &Type, raw: &[u8]) -> Value {
    let known = match *ty {
        Type::BOOL => raw.first().map(|byte| {
            let text = if *byte == 0 { "f" } else { "t" };
            Value::Text(text.to_owned())
        }),
        Type::INT2 => raw.try_into().ok().map(i16::from_be_bytes).map(integer),
        Type::INT4 => raw.try_into().ok().map(i32::from_be_bytes).map(integer),
        Type::INT8 => raw.try_into().ok().map(i64::from_be_bytes).map(integer),
        Type::OID => raw.try_into().ok().map(u32::from_be_bytes).map(integer),
        Type::FLOAT4 => {
            let number = raw.try_into().ok().map(f32::from_be_bytes);
            number.map(|number| Value::Real(f64::from(number)))
        }
        Type::FLOAT8 => raw.try_into().ok().map(f64::from_be_bytes).map(Value::Real),
        Type::NUMERIC => numeric(raw).map(Value::Decimal),
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN | Type::JSON => {
            let text = std::str::from_utf8(raw).ok();
            text.map(|text| Value::Text(text.to_owned()))
        }
        // `jsonb_send`: a version, then the text.
        Type::JSONB => {
            let text = raw
                .strip_prefix(&[1])
                .and_then(|text| std::str::from_utf8(text).ok());
            text.map(|text| Value::Text(text.to_owned()))
        }
        Type::DATE | Type::TIME | Type::TIMESTAMP | Type::TIMESTAMPTZ => {
            temporal(ty, raw).map(Value::Temporal)
        }
        _ => None,
    };
    known.unwrap_or_else(|| Value::Bytes(raw.to_vec()))
}

fn integer(number: impl Into<i64>) -> Value {
    Value::Integer(number.into())
}

/// The binary form of a numeric: digits to the base 10,000, weight of the first, sign, scale.
/// As PostgreSQL's `numeric_send` writes it. None where it is not that.
fn numeric(raw: &[u8]) -> Option<String> {
    let mut words = raw
        .chunks_exact(2)
        .map(|pair| i16::from_be_bytes([pair[0], pair[1]]));
    let count = usize::try_from(words.next()?).ok()?;
    let weight = i32::from(words.next()?);
    let sign = words.next()?.cast_unsigned();
    let scale = usize::try_from(words.next()?).ok()?;
    match sign {
        0 | 0x4000 => {}
        0xC000 => return Some("NaN".to_owned()),
        0xD000 => return Some("Infinity".to_owned()),
        0xF000 => return Some("-Infinity".to_owned()),
        _ => return None,
    }
    let digits: Vec<i16> = words.collect();
    if digits.len() != count {
        return None;
    }
    let at = |place: i32| {
        let index = usize::try_from(weight - place).ok();
        index
            .and_then(|index| digits.get(index))
            .copied()
            .unwrap_or(0)
    };
    let mut text = String::new();
    for place in (0..=weight.max(0)).rev() {
        text.push_str(&format!("{:04}", at(place)));
    }
    let whole = text.trim_start_matches('0');
    let mut text = if whole.is_empty() { "0" } else { whole }.to_owned();
    if scale > 0 {
        let mut fraction = String::new();
        let mut place = -1;
        while fraction.len() < scale {
            fraction.push_str(&format!("{:04}", at(place)));
            place -= 1;
        }
        fraction.truncate(scale);
        text = format!("{text}.{fraction}");
    }
    let sign = if sign == 0x4000 { "-" } else { "" };
    Some(format!("{sign}{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[i16]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn a_numeric_keeps_every_digit() {
        let negative = 0x4000;
        let cases: [(&[i16], &str); 7] = [
            (&[0, 0, 0, 0], "0"),
            (&[1, 0, 0, 0, 42], "42"),
            (&[2, 1, 0, 0, 1, 2], "10002"),
            (&[1, 2, 0, 0, 7], "700000000"),
            (&[2, 0, negative, 2, 1, 5000], "-1.50"),
            (&[1, -1, 0, 4, 12], "0.0012"),
            (&[1, -2, 0, 6, 3400], "0.000034"),
        ];
        for (raw, text) in cases {
            assert_eq!(numeric(&words(raw)).as_deref(), Some(text), "{raw:?}");
        }
        assert_eq!(
            numeric(&words(&[2, 0, 0, 0, 1])),
            None,
            "a digit is missing"
        );
    }

    #[test]
    fn cells_are_typed_by_their_column() {
        assert_eq!(typed(&Type::INT8, &7i64.to_be_bytes()), Value::Integer(7));
        assert_eq!(
            typed(&Type::INT2, &(-7i16).to_be_bytes()),
            Value::Integer(-7)
        );
        assert_eq!(typed(&Type::TEXT, b"a"), Value::Text("a".to_owned()));
        assert_eq!(typed(&Type::BYTEA, b"a"), Value::Bytes(b"a".to_vec()));
        assert_eq!(
            typed(&Type::INT8, b"short"),
            Value::Bytes(b"short".to_vec())
        );
    }

    #[test]
    fn words_tell_whether_rows_come_back() {
        assert_eq!(returns_rows("select v from t"), Some(true));
        assert_eq!(returns_rows("UPDATE t SET v = 1"), Some(false));
        assert_eq!(returns_rows("UPDATE t SET v = 1 RETURNING v"), None);
        assert_eq!(returns_rows("SELECT 1 INTO t"), None);
        assert_eq!(returns_rows("WITH a AS (DELETE FROM t) SELECT 1"), None);
        assert_eq!(returns_rows("COMMIT"), Some(false));
    }
}
