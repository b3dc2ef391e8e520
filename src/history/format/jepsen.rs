//! The log lines of Jepsen that Porcupine tests with: a register with read, write and cas.
//!
//! `INFO  jepsen.util - PROCESS :TYPE :F VALUE`, parted by tabs; whatever else a line says is
//! somebody else's log.

use std::io::BufRead;

use super::form::{Form, Forms};
use super::lines::Lines;
use super::operation::Operations;
use crate::history::{History, HistoryError};

const MARK: &str = "jepsen.util - ";

pub(super) fn detect(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.starts_with(b"INFO") && line.windows(MARK.len()).any(|part| part == MARK.as_bytes())
}

pub(super) fn read(stream: &mut dyn BufRead) -> Result<History, HistoryError> {
    let mut lines = Lines::new(stream);
    let mut operations = Operations::new();
    let mut position = 0i64;
    while let Some(line) = lines.next()? {
        let number = line.number;
        let text = std::str::from_utf8(line.rest());
        let text = text.map_err(|_| HistoryError::at(number, 1, "a line that is not UTF-8"))?;
        let Some((_, rest)) = text.split_once(MARK) else {
            continue;
        };
        let mut parts = rest
            .split('\t')
            .map(str::trim)
            .filter(|part| !part.is_empty());
        let head = [parts.next(), parts.next(), parts.next()];
        let [Some(process), Some(kind), Some(f)] = head else {
            continue;
        };
        let (Some(kind), Some(f)) = (kind.strip_prefix(':'), f.strip_prefix(':')) else {
            continue;
        };
        let text = |text: &str| Form::Text(text.to_owned());
        let process = process
            .parse()
            .map_or_else(|_| text(process), Form::Integer);
        let value = value(parts.next().unwrap_or("nil"), number)?;
        position += 1;
        let entries = vec![
            (text("process"), process),
            (text("type"), text(kind)),
            (text("f"), text(f)),
            (text("value"), value),
        ];
        operations.operation(number, position, Form::Map(entries))?;
    }
    operations.finish()
}

/// The value at the end of a line.
fn value(text: &str, number: u64) -> Result<Form, HistoryError> {
    // A map around it, so that a list is not taken for the list of all forms.
    let wrapped = format!("{{:value {text}}}");
    let mut bytes = wrapped.as_bytes();
    let form = Forms::new(&mut bytes).next();
    let form = form
        .ok()
        .flatten()
        .and_then(|(_, form)| form.get("value").cloned());
    form.ok_or_else(|| HistoryError::at(number, 1, "a value that is no EDN"))
}
