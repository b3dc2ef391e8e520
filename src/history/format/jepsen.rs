//! The log lines of Jepsen that Porcupine tests with: a register with read, write and cas.
//!
//! `INFO  jepsen.util - PROCESS :TYPE :F VALUE`, parted by tabs or blanks; lines of other loggers
//! are passed over.

use std::io::BufRead;

use super::form::{Form, Tape};
use super::forms::Forms;
use super::lines::Lines;
use super::operation::Operations;
use crate::history::{History, HistoryError};

const MARK: &str = "jepsen.util - ";

/// What a line must be.
const SHAPE: &str = "INFO jepsen.util - PROCESS :TYPE :F VALUE";

pub(super) fn detect(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.starts_with(b"INFO") && line.windows(MARK.len()).any(|part| part == MARK.as_bytes())
}

pub(super) fn read(stream: &mut dyn BufRead) -> Result<History, HistoryError> {
    let mut lines = Lines::new(stream);
    let mut operations = Operations::new();
    let mut position = 0i64;
    let mut last = 1;
    let (mut tape, mut value) = (Tape::default(), Tape::default());
    while let Some(line) = lines.next()? {
        last = line.number;
        let text = std::str::from_utf8(line.rest());
        let text = text.map_err(|_| HistoryError::at(last, 1, "a line that is not UTF-8"))?;
        let Some((_, said)) = text.split_once(MARK) else {
            continue;
        };
        position += 1;
        operation(said, last, &mut value, &mut tape)?;
        operations.operation(last, position, &mut tape)?;
    }
    if position == 0 {
        let message = format!("the file ends without a line of the form {SHAPE}");
        return Err(HistoryError::at(last, 1, message));
    }
    operations.finish()
}

/// Puts what stands behind the mark into a tape: three words, and a value in EDN.
fn operation(
    said: &str,
    number: u64,
    value: &mut Tape,
    tape: &mut Tape,
) -> Result<(), HistoryError> {
    let shape = || HistoryError::at(number, 1, format!("expected {SHAPE}"));
    let (process, rest) = word(said);
    let (kind, rest) = word(rest);
    let (f, rest) = word(rest);
    let (Some(kind), Some(f)) = (kind.strip_prefix(':'), f.strip_prefix(':')) else {
        return Err(shape());
    };
    let process = match (process.parse(), process.strip_prefix(':')) {
        (Ok(number), _) => Form::Integer(number),
        (_, Some(name)) => Form::Keyword(name),
        _ => return Err(shape()),
    };
    read_value(rest, number, value)?;
    tape.clear();
    tape.copy_map([
        (Form::Text("process"), process),
        (Form::Text("type"), Form::Text(kind)),
        (Form::Text("f"), Form::Text(f)),
        (Form::Text("value"), value.form()),
    ]);
    Ok(())
}

/// The first word, and what stands behind it.
fn word(said: &str) -> (&str, &str) {
    let said = said.trim_start();
    said.split_at(said.find(char::is_whitespace).unwrap_or(said.len()))
}

/// Puts the value into a tape, nil where there is none. What stands behind it is a reason.
fn read_value(text: &str, number: u64, value: &mut Tape) -> Result<(), HistoryError> {
    // A list around it, so that a value that is a list is not taken for the list of all forms. If
    // the value is whole, another form follows.
    let wrapped = format!("[{text} nil nil]");
    let mut bytes = wrapped.as_bytes();
    let mut forms = Forms::new(&mut bytes);
    let first = forms.next(value);
    match (first, forms.next(&mut Tape::default())) {
        (Ok(Some(_)), Ok(Some(_))) => Ok(()),
        (Err(HistoryError::IllFormed { message, .. }), _) => {
            let message = format!("a value that is no EDN: {message}");
            Err(HistoryError::at(number, 1, message))
        }
        _ => Err(HistoryError::at(number, 1, "a value that is no EDN")),
    }
}
