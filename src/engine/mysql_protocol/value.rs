//! Cells of the text protocol, typed by what the server says of their column.

use mysql::consts::{ColumnFlags, ColumnType};
use mysql::{Column, Row as RawRow, Value as Raw};

use crate::model::{Row, Value};

/// The number of the character set `binary`.
const BINARY_CHARSET: u16 = 63;

/// Types a row. Cells beyond the announced columns cannot occur: the driver counts them.
pub(super) fn typed_row(row: RawRow) -> Row {
    let columns = row.columns();
    columns
        .iter()
        .zip(row.unwrap())
        .map(|(column, cell)| typed(column, cell))
        .collect()
}

#[expect(clippy::wildcard_enum_match_arm, reason = "an enum of the mysql crate")]
fn typed(column: &Column, cell: Raw) -> Value {
    let bytes = match cell {
        Raw::Bytes(bytes) => bytes,
        Raw::NULL => return Value::Null,
        // The text protocol has no other cells; should one come, its value is kept.
        Raw::Int(number) => return Value::Integer(number),
        Raw::UInt(number) => return unsigned(number),
        Raw::Float(number) => return Value::Real(f64::from(number)),
        Raw::Double(number) => return Value::Real(number),
        other => return Value::Temporal(other.as_sql(true)),
    };
    from_text(
        column.column_type(),
        column.flags().contains(ColumnFlags::UNSIGNED_FLAG),
        column.character_set(),
        bytes,
    )
}

fn unsigned(number: u64) -> Value {
    i64::try_from(number).map_or(Value::Unsigned(number), Value::Integer)
}

/// Types the text of a cell. What does not read as its type says is kept as it is.
#[expect(clippy::wildcard_enum_match_arm, reason = "an enum of the mysql crate")]
fn from_text(kind: ColumnType, is_unsigned: bool, charset: u16, bytes: Vec<u8>) -> Value {
    use ColumnType as T;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Value::Bytes(error.into_bytes()),
    };
    let parsed = match kind {
        T::MYSQL_TYPE_TINY
        | T::MYSQL_TYPE_SHORT
        | T::MYSQL_TYPE_INT24
        | T::MYSQL_TYPE_LONG
        | T::MYSQL_TYPE_LONGLONG
        | T::MYSQL_TYPE_YEAR => {
            if is_unsigned {
                text.parse().ok().map(unsigned)
            } else {
                text.parse().ok().map(Value::Integer)
            }
        }
        T::MYSQL_TYPE_FLOAT | T::MYSQL_TYPE_DOUBLE => text.parse().ok().map(Value::Real),
        T::MYSQL_TYPE_DECIMAL | T::MYSQL_TYPE_NEWDECIMAL => Some(Value::Decimal(text.clone())),
        T::MYSQL_TYPE_DATE
        | T::MYSQL_TYPE_NEWDATE
        | T::MYSQL_TYPE_TIME
        | T::MYSQL_TYPE_TIME2
        | T::MYSQL_TYPE_DATETIME
        | T::MYSQL_TYPE_DATETIME2
        | T::MYSQL_TYPE_TIMESTAMP
        | T::MYSQL_TYPE_TIMESTAMP2 => Some(Value::Temporal(text.clone())),
        T::MYSQL_TYPE_JSON => Some(Value::Text(text.clone())),
        T::MYSQL_TYPE_BIT | T::MYSQL_TYPE_GEOMETRY => Some(Value::Bytes(text.clone().into_bytes())),
        _ => None,
    };
    parsed.unwrap_or_else(|| {
        if charset == BINARY_CHARSET {
            Value::Bytes(text.into_bytes())
        } else {
            Value::Text(text)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(kind: ColumnType, is_unsigned: bool, charset: u16, bytes: &[u8]) -> Value {
        from_text(kind, is_unsigned, charset, bytes.to_vec())
    }

    #[test]
    fn cells_are_typed_by_their_column() {
        use ColumnType as T;
        let long = T::MYSQL_TYPE_LONGLONG;
        assert_eq!(cell(long, false, 63, b"-7"), Value::Integer(-7));
        assert_eq!(cell(long, true, 63, b"7"), Value::Integer(7));
        assert_eq!(
            cell(long, true, 63, b"18446744073709551615"),
            Value::Unsigned(u64::MAX)
        );
        assert_eq!(
            cell(T::MYSQL_TYPE_DOUBLE, false, 63, b"-0"),
            Value::Real(-0.0)
        );
        assert_ne!(
            cell(T::MYSQL_TYPE_DOUBLE, false, 63, b"-0"),
            Value::Real(0.0)
        );
        assert_eq!(
            cell(T::MYSQL_TYPE_NEWDECIMAL, false, 63, b"1.50"),
            Value::Decimal("1.50".to_owned())
        );
        let string = T::MYSQL_TYPE_VAR_STRING;
        assert_eq!(cell(string, false, 45, b"ab"), Value::Text("ab".to_owned()));
        assert_eq!(cell(string, false, 63, b"ab"), Value::Bytes(b"ab".to_vec()));
        assert_eq!(cell(string, false, 45, b"\xff"), Value::Bytes(vec![0xff]));
        assert_eq!(
            cell(T::MYSQL_TYPE_DATE, false, 63, b"2024-02-29"),
            Value::Temporal("2024-02-29".to_owned())
        );
    }
}
