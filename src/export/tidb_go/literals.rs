//! Texts and rows as Go writes them.

use std::fmt::Write as _;

use crate::reproducer::Cell;

/// How testkit prints NULL.
const NULL: &str = "<nil>";

/// A text as an interpreted string literal. Go specification, "String literals".
pub(super) fn text_of(text: &str) -> String {
    let mut literal = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\t' => literal.push_str("\\t"),
            c if c.is_control() || c == '\u{feff}' => {
                // Writing to a String cannot fail.
                let _ = write!(literal, "\\u{:04x}", u32::from(c));
            }
            c => literal.push(c),
        }
    }
    literal.push('"');
    literal
}

/// Rows as testkit compares them, letter by letter; none where a number may be printed in another way than
/// the case writes it. `sorted`: in the order of `Sort`.
pub(super) fn plain_rows(rows: &[Vec<Cell>], sorted: bool) -> Option<String> {
    let mut texts: Vec<Vec<&str>> = Vec::new();
    for row in rows {
        texts.push(row.iter().map(plain_cell).collect::<Option<_>>()?);
    }
    if sorted {
        texts.sort();
    }
    let has_own_cells = |cell: &&str| !cell.is_empty() && !cell.contains(' ');
    Some(match texts.iter().flatten().all(has_own_cells) {
        // It parts cells at blanks.
        true => {
            let rows: Vec<String> = texts.iter().map(|row| text_of(&row.join(" "))).collect();
            format!("testkit.Rows({})", rows.join(", "))
        }
        false => {
            let rows: Vec<String> = texts.iter().map(|row| listed(row)).collect();
            format!("[][]any{{{}}}", rows.join(", "))
        }
    })
}

fn listed(row: &[&str]) -> String {
    let cells: Vec<String> = row.iter().map(|cell| text_of(cell)).collect();
    format!("{{{}}}", cells.join(", "))
}

/// A cell whose text is the same however it is printed.
fn plain_cell(cell: &Cell) -> Option<&str> {
    match cell {
        Cell::Null => Some(NULL),
        Cell::Text(text) => Some(text),
        Cell::Number(number) if is_plain(number) => Some(number),
        Cell::Number(_) | Cell::Bytes(_) => None,
    }
}

/// Whether a number is an integer without a sign of zero or zeros before it.
fn is_plain(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    let is_integer = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_integer && (number == "0" || !digits.starts_with('0'))
}

/// The cells of a row, as the functions of a test with replies compare them.
pub(super) fn cells_of(row: &[Cell]) -> String {
    let cells: Vec<String> = row.iter().map(cell_of).collect();
    format!("[]any{{{}}}", cells.join(", "))
}

fn cell_of(cell: &Cell) -> String {
    match cell {
        Cell::Null => text_of(NULL),
        Cell::Text(text) => text_of(text),
        Cell::Number(number) if is_plain(number) => text_of(number),
        Cell::Number(number) => format!("number({})", text_of(number)),
        Cell::Bytes(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect();
            format!("\"{digits}\"")
        }
    }
}
