//! Numbers that statements take from the counter of a column, where they are run again.
//!
//! A counter never goes back, and gives its numbers when statements run, so that a run alone gets other ones. A
//! statement that is run again is given those that it took in the run: the first, which its answer names, and what
//! follows that (MySQL manual, "AUTO_INCREMENT Handling in InnoDB"; MariaDB manual, "AUTO_INCREMENT Handling in
//! InnoDB"; "Server System Variables", `insert_id`).

use std::collections::BTreeSet;

use super::Evidence;
use crate::dialect::Dialect;
use crate::engine::EngineError;
use crate::execute::SerialRun;
use crate::model::{
    CaseStatement, ErrorClass, Pace, SetupKind, StatementId, StatementKind, StatementRecord,
    TableShape, TestCase,
};
use crate::observe::is_hidden_row_key;
use crate::statement::{self, CountedInsert, Counting, Filling, Returned};

/// The numbers with which a statement is run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GivenNumbers {
    /// It takes none.
    Unused,
    /// This one, and those that follow.
    From(i64),
    /// The run does not say which it took, or which row took which.
    Unknown,
}

/// How a statement of the case uses a counter, and whose. None where it does not, and where the counter is that of a
/// hidden row key, which no statement can see.
pub(super) fn counted_insert<'c>(
    case: &'c TestCase,
    statement: &CaseStatement,
    dialect: &Dialect,
) -> Option<(&'c TableShape, CountedInsert)> {
    let found = statement::counted_insert(case, statement, dialect);
    found.filter(|(table, _)| !is_hidden_row_key(table))
}

/// The numbers with which a statement is run again.
pub(super) fn numbers(evidence: &Evidence, statement: &CaseStatement) -> GivenNumbers {
    let case = &evidence.case;
    let Some((table, insert)) = counted_insert(case, statement, &evidence.dialect) else {
        return GivenNumbers::Unused;
    };
    let Some(record) = evidence.execution.records.get(&statement.id) else {
        return GivenNumbers::Unused;
    };
    if insert.counting == Counting::Unknown {
        return GivenNumbers::Unknown;
    }
    let Some(changed) = record.outcome.row_count() else {
        return without_row(evidence, record, table, &insert);
    };
    match first(evidence, table, record, &insert, changed) {
        First::Number(first) if follow_each_other(case, record, &insert, changed, first) => {
            GivenNumbers::From(first)
        }
        First::Number(_) | First::Unknown => GivenNumbers::Unknown,
        First::NoRow => without_row(evidence, record, table, &insert),
    }
}

/// The numbers of a statement that left no row which would have one: any number does that no row has, except where the
/// statement itself gives one to another row. Such a statement gets what its counter was to give next.
///
/// Where that is not known, a duplicate may be the engine's right answer. Another refusal is judged all the same: a
/// correct engine comes to it with either number, or with neither.
fn without_row(
    evidence: &Evidence,
    record: &StatementRecord,
    table: &TableShape,
    insert: &CountedInsert,
) -> GivenNumbers {
    let is_duplicate = record.outcome.error_class() == Some(ErrorClass::Duplicate);
    if is_duplicate && may_meet_another(evidence, record, table) {
        return GivenNumbers::Unknown;
    }
    let Counting::Rows(rows) = &insert.counting else {
        return beyond_all(table);
    };
    if !may_meet_itself(evidence, table, rows) {
        return beyond_all(table);
    }
    match untouched_counter(evidence, record, table) {
        Some(next) if stay_behind(rows, next) => GivenNumbers::From(next),
        _ if is_duplicate => GivenNumbers::Unknown,
        _ => beyond_all(table),
    }
}

/// What a counter gives next where a statement is the first of the sessions that may take or give a number of it: one more
/// than the greatest of the set-up, which took none (a case whose set-up does is refused), and 1 in an empty table.
fn untouched_counter(
    evidence: &Evidence,
    record: &StatementRecord,
    table: &TableShape,
) -> Option<i64> {
    let case = &evidence.case;
    // A DELETE takes nothing back.
    let touches = |statement: &CaseStatement| {
        let kind = statement.effect.kind;
        let mut targets = statement.effect.targets();
        kind == StatementKind::Opaque
            || (kind != StatementKind::Delete && targets.any(|name| name == table.name))
    };
    let mut others = case.statements.iter().filter(|s| s.id != record.id);
    let is_earlier = |statement: &CaseStatement| {
        let other = evidence.execution.records.get(&statement.id);
        other.is_some_and(|other| other.sent < record.answered)
    };
    if others.any(|statement| touches(statement) && is_earlier(statement)) {
        return None;
    }
    let only_inserts = case
        .setup
        .iter()
        .filter(|s| s.kind == SetupKind::Rows)
        .all(|s| statement::analyze(&s.sql, &evidence.dialect).kind == StatementKind::Insert);
    let is_known = only_inserts && evidence.initial.contains_key(&table.name);
    let highest = highest_of_setup(evidence, table).unwrap_or(0).max(0);
    highest.checked_add(1).filter(|_| is_known)
}

/// The greatest number that the set-up gave; none in an empty table.
fn highest_of_setup(evidence: &Evidence, table: &TableShape) -> Option<i64> {
    let place = table.columns.iter().position(|column| column.counted)?;
    let rows = evidence.initial.get(&table.name)?.iter();
    rows.filter_map(|row| row.get(place)?.as_integer()).max()
}

/// Whether a number that a statement takes may be one that it gives another row. A counter is beyond all that the set-up
/// gave.
fn may_meet_itself(evidence: &Evidence, table: &TableShape, rows: &[Filling]) -> bool {
    let highest = highest_of_setup(evidence, table);
    let is_below = |filling: &Filling| match filling {
        Filling::Counted => true,
        Filling::Given(number) => highest.is_some_and(|highest| *number <= highest),
        Filling::Either => false,
    };
    rows.len() > 1 && !rows.iter().all(is_below)
}

/// Whether the number that a statement took may have been given to a row by another one before it could use it: one that was
/// executed while it was, or waited. Until then the counter is beyond every number that a row has or had; an UPDATE
/// moves it, too (by hand on MariaDB 10.11 and 11.8 and on MySQL 9.7).
fn may_meet_another(evidence: &Evidence, record: &StatementRecord, table: &TableShape) -> bool {
    let case = &evidence.case;
    let column = table.columns.iter().find(|column| column.counted);
    let gives = |statement: &CaseStatement| {
        let effect = &statement.effect;
        let mut targets = effect.targets();
        if !targets.any(|name| name == table.name) {
            return false;
        }
        let insert = statement::counted_insert(case, statement, &evidence.dialect);
        let only_takes = insert.is_some_and(|(_, insert)| match insert.counting {
            Counting::Rows(rows) => rows.iter().all(|row| *row == Filling::Counted),
            Counting::Never | Counting::Query { .. } | Counting::Unknown => false,
        });
        if effect.kind == StatementKind::Update {
            return column.is_some_and(|column| effect.assigns(&table.name, &column.name));
        }
        effect.kind != StatementKind::Delete && !only_takes
    };
    let is_beside = |statement: &CaseStatement| {
        let other = evidence.execution.records.get(&statement.id);
        other.is_some_and(|other| other.sent < record.answered && record.sent < other.answered)
    };
    let mut others = case.statements.iter().filter(|s| s.id != record.id);
    others.any(|statement| is_beside(statement) && gives(statement))
}

/// The first number that a statement took which was accepted.
enum First {
    Number(i64),
    /// No row of it was put in.
    NoRow,
    Unknown,
}

fn first(
    evidence: &Evidence,
    table: &TableShape,
    record: &StatementRecord,
    insert: &CountedInsert,
    changed: u64,
) -> First {
    let told = first_told(evidence, table, record, insert);
    if insert.updates {
        // The answer names the number of the row that was changed, where one was (MySQL manual, "INSERT .. ON
        // DUPLICATE KEY UPDATE Statement"). A row that was put in counts as 1.
        return match &insert.counting {
            Counting::Rows(rows) if rows.len() == 1 && changed != 1 => First::NoRow,
            Counting::Rows(rows) if rows.len() == 1 => told.map_or(First::Unknown, First::Number),
            Counting::Never | Counting::Rows(_) | Counting::Query { .. } | Counting::Unknown => {
                First::Unknown
            }
        };
    }
    match told {
        _ if changed == 0 => First::NoRow,
        Some(first) => First::Number(first),
        None => First::Unknown,
    }
}

/// The first number that a statement took, as its answer or a row says that it returned; where it took none, perhaps a
/// number that it gave a row itself.
pub(super) fn first_told(
    evidence: &Evidence,
    table: &TableShape,
    record: &StatementRecord,
    insert: &CountedInsert,
) -> Option<i64> {
    match insert.returns {
        Returned::Nothing => record.counted,
        Returned::Number(at) => first_returned(evidence, table, record, insert, at),
        Returned::Elsewhere => None,
    }
}

/// The number of the first counted row of a VALUES list, of rows that come back in the order of the list. Where every row
/// is known that was put in and none has that number, the answer is wrong: the least of theirs, with which the statement
/// returns other rows.
fn first_returned(
    evidence: &Evidence,
    table: &TableShape,
    record: &StatementRecord,
    insert: &CountedInsert,
    at: usize,
) -> Option<i64> {
    let Counting::Rows(rows) = &insert.counting else {
        return None;
    };
    let counted = rows.iter().filter(|row| **row == Filling::Counted).count();
    // A row may be another one's instead of a new one, or stand for a later one of the list.
    if insert.updates || (insert.ignores && counted < rows.len()) {
        return None;
    }
    let first = rows
        .iter()
        .position(|row| !matches!(row, Filling::Given(_)))?;
    let returned = record.outcome.rows().get(first)?;
    let told = returned.get(at)?.as_integer()?;
    let made = put_in(evidence, record.id, table);
    match made.len() == rows.len() && !made.contains(&told) {
        true => made.first().copied(),
        false => Some(told),
    }
}

/// The numbers of the rows that a statement is known to have put in.
pub(super) fn put_in(
    evidence: &Evidence,
    writer: StatementId,
    table: &TableShape,
) -> BTreeSet<i64> {
    let place = table.columns.iter().position(|column| column.counted);
    let account = &evidence.account;
    let changes = account.changes.get(&writer).into_iter().flatten();
    let new = changes.filter(|change| change.table == table.name && change.before.is_none());
    new.filter_map(|change| account.chains.row(change.after)?.get(place?)?.as_integer())
        .collect()
}

/// Whether the rows took the numbers after the first one, each the next, in an order that the statement fixes.
///
/// A VALUES list takes all at once; what stands behind a greater number that a row is given takes others. A query takes
/// some at a time, and others may take some while it waits (MySQL manual, "AUTO_INCREMENT Handling in InnoDB",
/// of `innodb_autoinc_lock_mode`).
fn follow_each_other(
    case: &TestCase,
    record: &StatementRecord,
    insert: &CountedInsert,
    changed: u64,
    first: i64,
) -> bool {
    match &insert.counting {
        Counting::Rows(rows) => stay_behind(rows, first),
        Counting::Query { ordered } => {
            let alone = !record.resumed() && case.pace == Pace::Scheduled;
            changed <= 1 || (*ordered && alone)
        }
        Counting::Never => true,
        Counting::Unknown => false,
    }
}

/// Whether no row that takes a number stands behind one that is given this number or a greater one.
fn stay_behind(rows: &[Filling], first: i64) -> bool {
    let is_small = |row: &Filling| match row {
        Filling::Counted => true,
        Filling::Given(number) => *number < first,
        Filling::Either => false,
    };
    let last = rows
        .iter()
        .rposition(|row| !matches!(row, Filling::Given(_)));
    let before = last.map_or(&[][..], |last| &rows[..last]);
    rows.len() == 1 || before.iter().all(is_small)
}

/// A number that no row of a table has or had; none is known for the narrowest types.
fn beyond_all(table: &TableShape) -> GivenNumbers {
    let column = table.columns.iter().find(|column| column.counted);
    let sql_type = column.map_or(String::new(), |column| column.sql_type.to_ascii_uppercase());
    if sql_type.starts_with("BIGINT") {
        GivenNumbers::From(BEYOND_ALL)
    } else if sql_type.starts_with("INT") {
        GivenNumbers::From(BEYOND_ALL_INT)
    } else {
        GivenNumbers::Unknown
    }
}

/// Beyond what a case gives its rows: keys shift by 2 to the 52nd at most.
const BEYOND_ALL: i64 = 1 << 55;

/// The same of a column of 32 bits.
const BEYOND_ALL_INT: i64 = 2_000_000_000;

/// Has a serial run give the statement that comes next the numbers that it took in the run.
pub(super) fn give(
    evidence: &Evidence,
    statement: &CaseStatement,
    run: &mut dyn SerialRun,
) -> Result<(), EngineError> {
    match numbers(evidence, statement) {
        GivenNumbers::From(first) => run.count_from(first),
        GivenNumbers::Unused | GivenNumbers::Unknown => Ok(()),
    }
}

/// Whether a counter of the case may come to the end of its column's type: a type of less than 32 bits, a great number
/// given to it, or one that it starts from.
pub(super) fn may_run_out(case: &TestCase, dialect: &Dialect) -> bool {
    let columns = case.tables.iter().flat_map(|table| &table.columns);
    let counted = columns.filter(|column| column.counted);
    let is_narrow = |sql_type: &str| {
        let sql_type = sql_type.to_ascii_uppercase();
        !sql_type.starts_with("INT") && !sql_type.starts_with("BIGINT")
    };
    let starts_from = |sql: &str| {
        let sql: String = sql.split_whitespace().collect();
        sql.to_ascii_uppercase().contains("AUTO_INCREMENT=")
    };
    let is_great =
        |filling: &Filling| matches!(filling, Filling::Given(number) if *number > GIVEN_MAX);
    let gives_great = |statement: &CaseStatement| {
        let insert = statement::counted_insert(case, statement, dialect);
        insert.is_some_and(|(_, insert)| match insert.counting {
            Counting::Rows(rows) => rows.iter().any(is_great),
            Counting::Never | Counting::Query { .. } | Counting::Unknown => false,
        })
    };
    counted
        .into_iter()
        .any(|column| is_narrow(&column.sql_type))
        || case
            .setup
            .iter()
            .any(|statement| starts_from(&statement.sql))
        || case.statements.iter().any(gives_great)
}

/// Far below what 32 bits hold, and far above the keys of drawn cases.
const GIVEN_MAX: i64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::may_run_out;
    use crate::dialect::dialect_of;
    use crate::reproducer::case_of;

    #[test]
    fn a_counter_far_from_the_end_of_its_type_is_judged_and_no_other() {
        let dialect = dialect_of("mariadb", "10.11.6");
        let runs_out = |sql_type: &str, options: &str, rows: &str| {
            let text = format!(
                "--! isolation = \"READ COMMITTED\"\n\
                 /* init */ CREATE TABLE t (pkey {sql_type} NOT NULL AUTO_INCREMENT PRIMARY KEY, c INT) {options};\n\
                 /* s1 */ INSERT INTO t (pkey, c) VALUES {rows};\n"
            );
            may_run_out(&case_of(&text, &dialect), &dialect)
        };
        for sql_type in ["BIGINT", "INT", "BIGINT UNSIGNED"] {
            assert!(
                !runs_out(sql_type, "ENGINE=InnoDB", "(NULL, 1), (20, 2)"),
                "{sql_type}"
            );
        }
        assert!(runs_out("SMALLINT", "ENGINE=InnoDB", "(NULL, 1)"));
        assert!(runs_out(
            "BIGINT",
            "ENGINE=InnoDB",
            "(9223372036854775807, 1), (NULL, 2)"
        ));
        assert!(runs_out(
            "BIGINT",
            "ENGINE=InnoDB AUTO_INCREMENT = 9223372036854775807",
            "(NULL, 1)"
        ));
    }
}
