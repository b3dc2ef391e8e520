//! Cells of answers to statements of ours, as text or as numbers.

use crate::model::{Row, Value};

/// A cell as text, whatever the server gave it as. NULL is none.
pub(super) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) | Value::Decimal(text) | Value::Temporal(text) => Some(text.clone()),
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Unsigned(number) => Some(number.to_string()),
        Value::Real(number) => Some(number.to_string()),
        Value::Null => None,
    }
}

/// A cell as a number, whatever the server gave it as.
pub(super) fn number_of(value: &Value) -> Option<u64> {
    text_of(value)?.parse().ok()
}

/// The first cell of the first row, as text.
pub(super) fn first_text(rows: &[Row]) -> Option<String> {
    text_of(rows.first()?.first()?)
}

/// The first two cells of each row, as a name and its value. Rows without them are left out.
pub(super) fn named_values(rows: &[Row]) -> impl Iterator<Item = (String, String)> + '_ {
    rows.iter()
        .filter_map(|row| Some((text_of(row.first()?)?, text_of(row.get(1)?)?)))
}
