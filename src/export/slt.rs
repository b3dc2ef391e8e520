//! A test for sqllogictest: records that run one after another, each on a named connection.
//!
//! A record ends when it is answered, so a statement that waits for another connection would hang the
//! test: only cases whose statements never wait can be told.

use std::fmt::Write as _;

use super::case_format::{CaseFormat, DoesNotApply, Exported};
use super::client_step::ClientStep;
use super::scenario::{LockedTables, Scenario, Symptom};
use super::words;
use crate::dialect::{Dialect, ParserKind};
use crate::model::{ErrorClass, StatementKind};
use crate::reproducer::{CaseFile, Cell, Expectation};

pub(super) struct Slt;

impl CaseFormat for Slt {
    fn name(&self) -> &'static str {
        "slt"
    }

    fn about(&self) -> &'static str {
        "a test for sqllogictest, with an answer that is right where one is wrong"
    }

    fn extension(&self) -> &'static str {
        "slt"
    }

    fn write(&self, file: &CaseFile) -> Result<Exported, DoesNotApply> {
        let scenario = Scenario::of_any_engine(file)?;
        check(&scenario)?;
        let mut exported = Exported::of(test(&scenario)?);
        let speaks_mysql = scenario.dialect.spelling.parser == ParserKind::MySql;
        exported.remark = speaks_mysql.then(|| {
            "sqllogictest-bin 0.29 runs each record of its MySQL driver in another session: it needs a \
             runner that keeps connections"
                .to_owned()
        });
        Ok(exported)
    }
}

fn refused<T>(reason: impl Into<String>) -> Result<T, DoesNotApply> {
    Err(DoesNotApply(reason.into()))
}

/// Refuses what no sequence of records tells.
fn check(scenario: &Scenario<'_, ()>) -> Result<(), DoesNotApply> {
    let waits = |step: &&ClientStep| step.waits || step.right.contains(&Expectation::Waits);
    if let Some(step) = scenario.steps.iter().find(waits) {
        return refused(format!(
            "a statement waits for a lock, and the format has no statement that is sent and answered \
             later: {}",
            step.sql
        ));
    }
    let mut locked = LockedTables::default();
    for step in &scenario.steps {
        let kind = step.effect.kind;
        let locks = kind.is_write() || kind == StatementKind::LockingSelect;
        if locks && step.seen.is_none() && locked.meet(step) {
            return refused(format!(
                "the file notes no answer of a statement that may wait for a lock: {}",
                step.sql
            ));
        }
        locked.after(step);
    }
    match scenario.symptom {
        Symptom::WrongAnswer | Symptom::NothingWrong | Symptom::Crash => Ok(()),
        Symptom::AsSeen => refused(
            "no answer is wrong alone, and a test of this format compares each answer alone",
        ),
        Symptom::Hang => refused("a statement is never answered, and the test would not end"),
    }
}

fn test(scenario: &Scenario<'_, ()>) -> Result<String, DoesNotApply> {
    let mut text = String::new();
    let versions = scenario.versions();
    let seen_on = match versions.as_str() {
        "" => scenario.dialect.engine.clone(),
        versions => format!("{} {versions}", scenario.dialect.engine),
    };
    for line in words::synopsis(scenario).lines() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "# {line}");
    }
    let _ = writeln!(text, "# Seen on {seen_on}.\n");
    for sql in scenario.setup() {
        record(&mut text, None, "statement ok", sql)?;
    }
    for (client, setup) in &scenario.clients {
        for sql in setup {
            record(&mut text, Some(*client), "statement ok", sql)?;
        }
    }
    let mut is_open = false;
    for step in scenario.steps.iter().chain(&scenario.afterwards) {
        step_record(&mut text, step, is_open, &scenario.dialect)?;
        is_open |= step.spoils_what_follows();
    }
    Ok(text)
}

/// A statement with the answer that is right. `is_open`: answers that nobody predicted are not known.
fn step_record(
    text: &mut String,
    step: &ClientStep,
    is_open: bool,
    dialect: &Dialect,
) -> Result<(), DoesNotApply> {
    let about_answers = |answer: &&Expectation| !answer.is_about_waiting();
    let right: Vec<&Expectation> = step.right.iter().filter(about_answers).collect();
    let due = match (right.as_slice(), &step.seen) {
        ([one], _) => Some(*one),
        ([], seen) => seen.as_ref().filter(|_| !is_open),
        (several, Some(seen)) if several.contains(&seen) => Some(seen),
        _ => {
            return refused(format!(
                "several answers are right, and a record has one: {}",
                step.sql
            ));
        }
    };
    let is_rejected = matches!(step.seen, Some(Expectation::Error(_)));
    if due.is_none() && is_open && is_rejected {
        return refused(format!(
            "whether this statement is rejected depends on a write that went wrong: {}",
            step.sql
        ));
    }
    let head = match due {
        Some(Expectation::Rows(rows)) => {
            let columns = rows.first().map_or(1, Vec::len);
            let head = format!("query {} rowsort", "T".repeat(columns));
            let mut body = format!("{}\n----", step.sql);
            for row in sorted(rows, &step.sql)? {
                let _ = write!(body, "\n{row}");
            }
            return record(text, step.client, &head, &body);
        }
        Some(Expectation::Affected(count)) => format!("statement count {count}"),
        Some(Expectation::Error(class)) => error_head(*class, dialect),
        Some(Expectation::Accepted | Expectation::Waits | Expectation::DoesNotWait) | None => {
            "statement ok".to_owned()
        }
    };
    record(text, step.client, &head, &step.sql)
}

/// An SQLSTATE stands in the record; other codes have no place in the format.
fn error_head(class: ErrorClass, dialect: &Dialect) -> String {
    match dialect.error_codes(class).as_slice() {
        [state] if state.len() == 5 => format!("statement error ({state})"),
        _ => "statement error".to_owned(),
    }
}

/// A record with its empty line; the connection holds for this record only.
fn record(
    text: &mut String,
    client: Option<u32>,
    head: &str,
    body: &str,
) -> Result<(), DoesNotApply> {
    let sql = body.split("\n----").next().unwrap_or_default();
    let is_cut = |line: &str| line.trim().is_empty() || line.trim() == "----";
    if sql.lines().any(is_cut) {
        return refused(format!(
            "an empty line or one of hyphens ends a statement in this format: {sql}"
        ));
    }
    if let Some(client) = client {
        let _ = writeln!(text, "connection s{client}");
    }
    let _ = writeln!(text, "{head}\n{body}\n");
    Ok(())
}

/// The rows as the format spells them, in the order of `rowsort`.
fn sorted(rows: &[Vec<Cell>], sql: &str) -> Result<Vec<String>, DoesNotApply> {
    let mut lines = Vec::new();
    for row in rows {
        let cells: Result<Vec<String>, DoesNotApply> =
            row.iter().map(|cell| spelled(cell, sql)).collect();
        lines.push(cells?.join(" "));
    }
    lines.sort();
    Ok(lines)
}

fn spelled(cell: &Cell, sql: &str) -> Result<String, DoesNotApply> {
    match cell {
        Cell::Null => Ok("NULL".to_owned()),
        Cell::Number(number) => Ok(number.clone()),
        Cell::Text(text) if text.is_empty() => Ok("(empty)".to_owned()),
        Cell::Text(text) if !text.contains(char::is_control) => Ok(text.clone()),
        Cell::Text(_) | Cell::Bytes(_) => refused(format!(
            "an answer holds bytes or control characters, which the format does not spell: {sql}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::reproducer::read;

    const HEAD: &str = "--! format = 1\n--! engine = \"postgres\"\n--! seen_on = [\"16.4\"]\n\
                        --! isolation = \"REPEATABLE READ\"\n--! session_setup = []\n";

    fn exported(lines: &str) -> Result<Exported, DoesNotApply> {
        Slt.write(&read(&format!("{HEAD}{lines}"), "x.sql").unwrap())
    }

    fn check(lines: &str, expected: &Expect) {
        let text = match exported(lines) {
            Ok(exported) => exported.text,
            Err(reason) => reason.to_string(),
        };
        expected.assert_eq(&text);
    }

    #[test]
    fn each_record_names_its_connection_and_has_the_right_answer() {
        check(
            "/* init */ CREATE TABLE t (a INT, b TEXT);
/* init */ INSERT INTO t VALUES (1, ''), (2, NULL);
/* s1 */ BEGIN;
/* s1 */ SELECT * FROM t; -- @got (1, '') (2, NULL)
/* s2 */ UPDATE t SET a = 3 WHERE a = 1; -- @got affected 1
/* s1 */ SELECT a FROM t; -- @got (3) (2)  @expect (2) (1)
/* s1 */ UPDATE t SET a = 4 WHERE a = 3; -- @error serialization
/* s1 */ ROLLBACK;
/* end */ SELECT a FROM t WHERE a > 9; -- @got empty",
            &expect![[r#"
                # SELECT returns wrong rows at REPEATABLE READ
                # Seen on postgres 16.4.

                statement ok
                CREATE TABLE t (a INT, b TEXT)

                statement ok
                INSERT INTO t VALUES (1, ''), (2, NULL)

                connection s1
                statement ok
                BEGIN

                connection s1
                query TT rowsort
                SELECT * FROM t
                ----
                1 (empty)
                2 NULL

                connection s2
                statement count 1
                UPDATE t SET a = 3 WHERE a = 1

                connection s1
                query T rowsort
                SELECT a FROM t
                ----
                1
                2

                connection s1
                statement error (40001)
                UPDATE t SET a = 4 WHERE a = 3

                connection s1
                statement ok
                ROLLBACK

                query T rowsort
                SELECT a FROM t WHERE a > 9
                ----

            "#]],
        );
    }

    #[test]
    fn what_a_record_cannot_tell_is_refused_with_the_statement() {
        let two = "/* init */ CREATE TABLE t (a INT);\n/* s1 */ BEGIN;\n/* s1 */ UPDATE t SET a = 1; -- @got affected 0\n";
        for (lines, reason) in [
            (
                "/* s2 */ UPDATE t SET a = 2; -- @blocks s1 @got affected 0\n/* s1 */ COMMIT; -- @resumes s2",
                "a statement waits for a lock, and the format has no statement that is sent and answered later: UPDATE t SET a = 2",
            ),
            (
                "/* s2 */ DELETE FROM t;\n/* s1 */ COMMIT;",
                "the file notes no answer of a statement that may wait for a lock: DELETE FROM t",
            ),
            (
                "/* s1 */ SELECT a FROM t; -- @got (1) @expect (2) @expect (3)\n/* s1 */ COMMIT;",
                "several answers are right, and a record has one: SELECT a FROM t",
            ),
            (
                "/* s1 */ SELECT a FROM t; -- @got (x'00') @expect (x'01')\n/* s1 */ COMMIT;",
                "an answer holds bytes or control characters, which the format does not spell: SELECT a FROM t",
            ),
        ] {
            let refused = exported(&format!("{two}{lines}")).unwrap_err();
            assert_eq!(refused.to_string(), reason);
        }
    }

    #[test]
    fn behind_a_write_that_went_wrong_only_predicted_answers_are_compared() {
        let text = exported(
            "/* init */ CREATE TABLE t (a INT);
/* s1 */ UPDATE t SET a = 1; -- @got affected 1  @expect affected 2
/* s1 */ SELECT a FROM t; -- @got (1)
/* end */ SELECT a FROM t; -- @got (1)  @expect (1) (1)",
        );
        let text = text.unwrap().text;
        let end = text.split("statement count 2\n").nth(1).unwrap();
        let expected = "UPDATE t SET a = 1\n\nconnection s1\nstatement ok\nSELECT a FROM t\n\n\
                        query T rowsort\nSELECT a FROM t\n----\n1\n1\n\n";
        assert_eq!(end, expected);
    }
}
