//! Tables at the end whose bytes have no text that mysqltest surely prints: the test reads those columns by HEX.

use std::collections::BTreeSet;

use crate::export::client_step::ClientStep;
use crate::export::scenario::Scenario;
use crate::reproducer::{Cell, Expectation};

/// The read of a whole table with HEX over the columns of such bytes, and its answers; none where no column has any, or
/// where it is another read.
pub(super) fn by_hex(step: &ClientStep, scenario: &Scenario<'_>) -> Option<ClientStep> {
    let table = step.sql.strip_prefix("SELECT * FROM ")?;
    let name = table.trim_matches(['`', '"']);
    let columns = &scenario.case.table(name)?.columns;
    let answers = || step.seen.iter().chain(&step.right);
    let rows = || answers().filter_map(rows_of).flatten();
    if rows().any(|row| row.len() != columns.len()) {
        return None;
    }
    let of_row = |row: &Vec<Cell>| {
        let cells = row.iter().enumerate();
        let bare = cells.filter(|(_, cell)| is_bare(cell));
        bare.map(|(place, _)| place).collect::<Vec<usize>>()
    };
    let shown: BTreeSet<usize> = rows().flat_map(of_row).collect();
    if shown.is_empty() {
        return None;
    }
    let list = columns.iter().enumerate().map(|(place, column)| {
        let quoted = scenario.dialect.quote(&column.name);
        match shown.contains(&place) {
            true => format!("HEX({quoted}) AS {quoted}"),
            false => quoted,
        }
    });
    let list: Vec<String> = list.collect();
    let mut read = step.clone();
    read.sql = format!("SELECT {} FROM {table}", list.join(", "));
    for rows in read.seen.iter_mut().chain(&mut read.right) {
        let Expectation::Rows(rows) = rows else {
            continue;
        };
        for cells in rows {
            for place in &shown {
                cells[*place] = hex(&cells[*place])?;
            }
        }
    }
    Some(read)
}

fn rows_of(answer: &Expectation) -> Option<&Vec<Vec<Cell>>> {
    match answer {
        Expectation::Rows(rows) => Some(rows),
        Expectation::Affected(_)
        | Expectation::Error(_)
        | Expectation::Accepted
        | Expectation::Waits
        | Expectation::DoesNotWait => None,
    }
}

/// Whether these bytes are not printed as they are.
fn is_bare(cell: &Cell) -> bool {
    match cell {
        Cell::Bytes(bytes) => !bytes.iter().all(|byte| (b' '..=b'~').contains(byte)),
        Cell::Null | Cell::Number(_) | Cell::Text(_) => false,
    }
}

/// What HEX gives of a value; none of a number, of which it gives something else.
fn hex(cell: &Cell) -> Option<Cell> {
    let bytes = match cell {
        Cell::Null => return Some(Cell::Null),
        Cell::Number(_) => return None,
        Cell::Text(text) => text.as_bytes(),
        Cell::Bytes(bytes) => bytes,
    };
    let digits = bytes.iter().map(|byte| format!("{byte:02X}"));
    Some(Cell::Text(digits.collect()))
}
