//! The text of an execution: one line per event, a lane per session.
//!
//! ```text
//! s1      T1.2  UPDATE t SET v = v + 1 WHERE pkey = 1      -> 1 row affected
//!     s2  T2.2  UPDATE t SET v = v + 100 WHERE pkey = 1    <waiting for T1>
//! s1      T1.3  COMMIT
//!     s2  T2.2  <resumed>                                  -> 1 row affected
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::model;
use crate::model::{
    CaseStatement, EventKind, Execution, Outcome, Row, StatementRecord, TestCase, TransactionId,
    TransactionStatus, Value, cut_to,
};

/// The columns a line may take.
const WIDTH: usize = 100;

/// The columns of a session's lane.
const LANE: usize = 4;

/// Sessions beyond this many share the last lane.
const LANES_MAX: usize = 6;

/// Stands at the end of a text that is cut.
const LEFT_OUT: &str = "...";

/// The columns a value may take.
const VALUE_WIDTH: usize = 24;

/// The lines a statement's text may take.
const TEXT_LINES_MAX: usize = 4;

/// Renders an execution for people.
///
/// The engine's and the case's texts are escaped: nothing in them reaches a terminal as a control
/// character.
pub fn transcript(case: &TestCase, execution: &Execution) -> String {
    let mut page = Page::new(case);
    let waited: BTreeSet<_> = execution
        .events
        .iter()
        .filter(|event| event.kind == EventKind::Waiting)
        .map(|event| event.statement)
        .collect();
    for event in &execution.events {
        let Some(statement) = case.statement(event.statement) else {
            continue;
        };
        let record = execution.records.get(&event.statement);
        match event.kind {
            EventKind::Sent if waited.contains(&event.statement) => {
                let waiting = waiting(record);
                page.line(statement, &printable(&statement.sql), &waiting);
            }
            EventKind::Sent => {
                let outcome = record.map_or_else(
                    || "<no answer>".to_owned(),
                    |record| outcome(statement, record),
                );
                page.line(statement, &printable(&statement.sql), &outcome);
            }
            EventKind::Answered if waited.contains(&event.statement) => {
                let outcome = record.map_or_else(String::new, |record| outcome(statement, record));
                page.line(statement, "<resumed>", &outcome);
            }
            EventKind::Waiting | EventKind::Answered => {}
        }
    }
    page.end(case, execution);
    page.text
}

/// The text as it grows.
struct Page {
    text: String,
    lanes: BTreeMap<crate::model::SessionId, usize>,
    /// Columns before the statement's text.
    margin: usize,
    /// Columns of the widest statement identifier.
    identifier: usize,
}

impl Page {
    fn new(case: &TestCase) -> Self {
        let lanes: BTreeMap<_, _> = case
            .sessions()
            .into_iter()
            .enumerate()
            .map(|(index, session)| (session, index.min(LANES_MAX - 1)))
            .collect();
        let identifier = case
            .statements
            .iter()
            .map(|statement| statement.id.to_string().len())
            .max()
            .unwrap_or(0);
        let widest = lanes.values().max().map_or(0, |lane| lane + 1);
        Self {
            text: String::new(),
            lanes,
            margin: widest * LANE + identifier + 2,
            identifier,
        }
    }

    /// One event: the statement's text, and its outcome at the right or on the next line.
    fn line(&mut self, statement: &CaseStatement, text: &str, result: &str) {
        let lane = self.lanes.get(&statement.session).copied().unwrap_or(0) * LANE;
        let session = statement.session.to_string();
        let gap = self.margin - self.identifier - 2 - lane;
        let head = format!(
            "{:lane$}{session:gap$}{:<width$}  ",
            "",
            statement.id.to_string(),
            width = self.identifier
        );
        let room = WIDTH.saturating_sub(self.margin).max(20);
        let mut lines = lines_of(text, room, TEXT_LINES_MAX);
        let result = cut_to(result, room, LEFT_OUT);
        let last = lines.last().map_or(0, |line| line.chars().count());
        let fits = last + 2 + result.chars().count() <= room;
        if fits && !result.is_empty() {
            if let Some(line) = lines.last_mut() {
                let padding = room - last - result.chars().count();
                // Lined up where there is room for it, and never a river of blanks.
                let column = (room / 2).saturating_sub(last).max(2).min(padding);
                let _ = write!(line, "{:column$}{result}", "");
            }
        } else if !result.is_empty() {
            lines.push(format!(
                "{:>width$}",
                result,
                width = result.chars().count() + 2
            ));
        }
        for (index, line) in lines.iter().enumerate() {
            if index == 0 {
                let _ = writeln!(self.text, "{head}{line}");
            } else {
                let _ = writeln!(self.text, "{:margin$}{line}", "", margin = self.margin);
            }
        }
    }

    /// The transactions that no statement ended, the final tables, and why the run is no evidence.
    fn end(&mut self, case: &TestCase, execution: &Execution) {
        for (transaction, status) in &execution.transactions {
            if let Some(note) = ending(case, execution, *transaction, *status) {
                let _ = writeln!(self.text, "{transaction} {note}");
            }
        }
        if !execution.final_state.is_empty() {
            self.text.push_str("in the end\n");
        }
        let width = execution.final_state.keys().map(String::len).max();
        let width = width.unwrap_or(0);
        for (table, rows) in case.own_final_state(execution) {
            let room = WIDTH.saturating_sub(width + 4).max(20);
            let rows = rows_in(&rows, room);
            let _ = writeln!(self.text, "  {:<width$}  {rows}", printable(table));
        }
        if let Some(reason) = &execution.unreliable {
            let _ = writeln!(self.text, "this run is no evidence: {reason}");
        }
    }
}

/// How a transaction ended that no statement of the case ended.
fn ending(
    case: &TestCase,
    execution: &Execution,
    transaction: TransactionId,
    status: TransactionStatus,
) -> Option<String> {
    if !case.is_explicit(transaction) {
        return None;
    }
    let of = |record: &&StatementRecord| record.id.transaction == transaction;
    let last = execution.records.values().rfind(of)?;
    let kind = case
        .statement(last.id)
        .map(|statement| statement.effect.kind)?;
    match status {
        TransactionStatus::Indeterminate => {
            Some("is in doubt: its COMMIT got no answer".to_owned())
        }
        TransactionStatus::Committed(_) => None,
        TransactionStatus::Aborted(_) if kind.is_end() && last.outcome.error_class().is_none() => {
            None
        }
        TransactionStatus::Aborted(_) => {
            let planned = case
                .statements
                .iter()
                .filter(|statement| statement.id.transaction == transaction)
                .count();
            let sent = execution.records.values().filter(of).count();
            let why = match kind.is_begin() && last.outcome.error_class().is_some() {
                true => "did not begin",
                false => "was aborted by the engine",
            };
            Some(match planned - sent {
                0 if kind.is_end() => "was rolled back, for its end was refused".to_owned(),
                0 => "was left open and rolled back".to_owned(),
                1 => format!("{why}; its last statement was not sent"),
                rest => format!("{why}; its last {rest} statements were not sent"),
            })
        }
    }
}

fn waiting(record: Option<&StatementRecord>) -> String {
    let on: Vec<String> = record
        .into_iter()
        .flat_map(|record| &record.waited_for)
        .map(ToString::to_string)
        .collect();
    if on.is_empty() {
        "<waiting>".to_owned()
    } else {
        format!("<waiting for {}>", on.join(", "))
    }
}

fn outcome(statement: &CaseStatement, record: &StatementRecord) -> String {
    match &record.outcome {
        Outcome::Rows(rows) => format!("-> {}", rows_in(rows, WIDTH / 2)),
        Outcome::Affected(_) if statement.effect.kind.is_control() => String::new(),
        Outcome::Affected(0) => "-> no row affected".to_owned(),
        Outcome::Affected(1) => "-> 1 row affected".to_owned(),
        Outcome::Affected(count) => format!("-> {count} rows affected"),
        Outcome::Rejected(error) => format!(
            "-> {} ({}): {}",
            error.class,
            printable(&error.code),
            printable(&error.message)
        ),
    }
}

/// How many rows, and as many of them as there is room for.
fn rows_in(rows: &[Row], room: usize) -> String {
    let mut text = match rows.len() {
        0 => return "no rows".to_owned(),
        1 => "1 row: ".to_owned(),
        count => format!("{count} rows: "),
    };
    for (index, row) in rows.iter().enumerate() {
        let row = row_text(row);
        let more = format!("... {} more", rows.len() - index);
        let is_last = index + 1 == rows.len();
        let needed = row.chars().count() + if is_last { 0 } else { more.len() + 1 };
        if index > 0 && text.chars().count() + needed > room {
            text.push_str(&more);
            return text;
        }
        text.push_str(&row);
        if !is_last {
            text.push(' ');
        }
    }
    text
}

fn row_text(row: &Row) -> String {
    let values: Vec<String> = row.iter().map(value_text).collect();
    format!("({})", values.join(", "))
}

fn value_text(value: &Value) -> String {
    cut_to(&printable(&value.to_string()), VALUE_WIDTH, LEFT_OUT)
}

/// Breaks a text at blanks and cuts it after the last line.
fn lines_of(text: &str, width: usize, lines_max: usize) -> Vec<String> {
    let mut lines = model::wrapped(text, width, "  ");
    if let Some(rest) = lines.get(lines_max..).filter(|rest| !rest.is_empty()) {
        let rest: Vec<&str> = rest.iter().map(|line| line.trim_start()).collect();
        let rest = format!("{} {}", lines[lines_max - 1], rest.join(" "));
        lines.truncate(lines_max - 1);
        lines.push(rest);
    }
    lines
        .iter()
        .map(|line| cut_to(line, width, LEFT_OUT))
        .collect()
}

/// On one line: line breaks and tabs as blanks, what leaves no mark escaped.
fn printable(text: &str) -> String {
    let line = text.replace(['\n', '\t', '\r'], " ");
    model::printable(line.trim())
}

#[cfg(test)]
mod tests;
