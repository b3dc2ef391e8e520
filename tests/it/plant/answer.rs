//! A server's whole answer to one statement, by whichever protocol it came, and what faults change in it.

use super::{packet, postgres};

/// Whose server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Product {
    MariaDb,
    MySql,
    Postgres,
}

/// Why a server refused a statement, as far as faults ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Duplicate,
    NoParent,
    Deadlock,
    LockTimeout,
    /// NOWAIT met a lock. MariaDB answers a timeout.
    LockedNowait,
    /// What the transaction is to change was changed since its snapshot (PostgreSQL, TiDB).
    Conflict,
    /// DDL of another session changed a table since the snapshot.
    TableChanged,
    Other,
}

/// How an answer to a statement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerEnd {
    Done,
    Rows,
    Error(Refusal),
}

/// How messages are written, and the cells in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    MySql(packet::Ending),
    Postgres(postgres::Cells),
}

/// The whole answer to one statement.
#[derive(Clone, Debug)]
pub(super) struct WireAnswer {
    pub(super) wire: Wire,
    /// Messages before the rows, each without its length.
    pub(super) head: Vec<Vec<u8>>,
    pub(super) rows: Vec<Vec<u8>>,
    /// Messages behind the rows.
    pub(super) tail: Vec<Vec<u8>>,
    pub(super) end: AnswerEnd,
    /// The rows that a write says it changed.
    pub(super) affected: Option<u64>,
    /// Whether the server says that a transaction is open; an error of MySQL says nothing.
    pub(super) in_transaction: Option<bool>,
    /// Whether the server says that the open transaction is failed.
    pub(super) is_failed: bool,
}

impl WireAnswer {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let messages = self.head.iter().chain(&self.rows).chain(&self.tail);
        match self.wire {
            Wire::MySql(_) => packet::numbered(messages),
            Wire::Postgres(_) => postgres::framed(messages),
        }
    }

    pub(super) fn error(&self) -> Option<Refusal> {
        match self.end {
            AnswerEnd::Error(refusal) => Some(refusal),
            AnswerEnd::Done | AnswerEnd::Rows => None,
        }
    }

    /// The first column of every row, as text; nothing for other answers. NULL is left out.
    pub(super) fn first_column(&self) -> Vec<String> {
        let rows = self.rows.iter();
        rows.filter_map(|row| match self.wire {
            Wire::MySql(_) => packet::first_cell(row),
            Wire::Postgres(cells) => postgres::first_cell(row, cells),
        })
        .collect()
    }

    /// Whether it is a set of rows that is not empty.
    pub(super) fn has_rows(&self) -> bool {
        self.end == AnswerEnd::Rows && !self.rows.is_empty()
    }

    /// The same answer with its last row so many times.
    pub(super) fn with_last_row(mut self, times: usize) -> Self {
        if let Some(row) = self.rows.pop() {
            self.rows.extend(std::iter::repeat_n(row, times));
        }
        self
    }

    /// The same answer with another last value in its last row; None where that is no number.
    pub(super) fn with_changed_value(&self) -> Option<Self> {
        let mut changed = self.clone();
        let row = changed.rows.last_mut()?;
        match self.wire {
            Wire::MySql(_) => packet::change_last_cell(row)?,
            Wire::Postgres(cells) => postgres::change_last_cell(row, &self.head, cells)?,
        }
        Some(changed)
    }

    /// The same answer by a server that says in these words what it has done.
    pub(super) fn with_tag(mut self, tag: &str) -> Self {
        match self.wire {
            Wire::MySql(_) => {}
            Wire::Postgres(_) => postgres::put_tag(&mut self.tail, tag),
        }
        self
    }

    /// The same answer with its last two rows in each other's place.
    pub(super) fn with_rows_swapped(mut self) -> Self {
        if let [.., one, other] = self.rows.as_mut_slice() {
            std::mem::swap(one, other);
        }
        self
    }

    /// The same answer without a row.
    pub(super) fn without_rows(mut self) -> Self {
        self.rows.clear();
        self
    }

    /// The same answer, which says that so many rows were changed.
    pub(super) fn with_affected(mut self, affected: u64) -> Self {
        self.affected = Some(affected);
        match self.wire {
            Wire::MySql(_) => {
                let open = self.in_transaction.unwrap_or_default();
                self.tail = vec![packet::done(affected, open)];
            }
            Wire::Postgres(_) => postgres::put_count(&mut self.tail, affected),
        }
        self
    }

    /// The answer to a statement that was done in two steps, the other one's after this one's; an error of the
    /// other one is the whole.
    pub(super) fn and_then(self, mut other: Self) -> Self {
        if other.error().is_some() {
            return other;
        }
        other.rows.splice(0..0, self.rows);
        match (self.affected, other.affected) {
            (Some(before), Some(behind)) => other.with_affected(before + behind),
            _ => other,
        }
    }

    /// The same answer, from a server that says this of its transaction.
    pub(super) fn in_transaction(mut self, is_open: Option<bool>) -> Self {
        self.in_transaction = is_open;
        let open = is_open.unwrap_or_default();
        match (self.wire, self.end) {
            (Wire::MySql(_), AnswerEnd::Rows) => packet::put_status(&mut self.tail, open),
            (Wire::MySql(_), AnswerEnd::Done) => {
                self.tail = vec![packet::done(self.affected.unwrap_or(0), open)];
            }
            (Wire::MySql(_), AnswerEnd::Error(_)) => {}
            (Wire::Postgres(_), _) => postgres::put_status(&mut self.tail, open),
        }
        self
    }
}
