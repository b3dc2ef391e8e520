//! Values as literals that an engine reads back bit by bit.

use super::Dialect;
use crate::model::Value;

impl Dialect {
    /// The literal for a value, such that the engine stores the same value again.
    pub fn literal(&self, value: &Value) -> String {
        match value {
            Value::Null => "NULL".to_owned(),
            Value::Integer(number) => number.to_string(),
            Value::Unsigned(number) => number.to_string(),
            Value::Real(number) => format!("{number:e}"),
            Value::Decimal(text) => text.clone(),
            Value::Text(text) | Value::Temporal(text) => self.quote_text(text),
            Value::Bytes(bytes) => {
                let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
                format!("X'{digits}'")
            }
        }
    }

    fn quote_text(&self, text: &str) -> String {
        let escaped = text.replace('\'', "''");
        let escaped = if self.spelling.backslash_escapes {
            escaped.replace('\\', "\\\\")
        } else {
            escaped
        };
        format!("'{escaped}'")
    }
}
