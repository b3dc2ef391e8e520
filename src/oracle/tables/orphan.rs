//! Rows that refer to no row, though the engine enforces their foreign key.

use std::collections::BTreeSet;

use crate::dialect::{Capability, Dialect};
use crate::model::{
    CaseStatement, Execution, ForeignKey, ForeignKeyAction, Row, Setting, StatementKind,
    StatementRecord, TableShape, TestCase, Value,
};
use crate::oracle::compare;

/// A row at the end that refers to no row, though the engine enforces its foreign key: a check or an action went past
/// another transaction. Keys of integers alone are looked at, which are equal only where they look equal.
///
/// A session that did something which only the engine understands may have switched the checks off.
pub(super) fn find(case: &TestCase, execution: &Execution, dialect: &Dialect) -> Option<OrphanRow> {
    if !dialect.supports(Capability::ForeignKey) || checks_may_be_off(case) {
        return None;
    }
    case.tables.iter().find_map(|child| {
        let mut keys = child.foreign_keys.iter();
        keys.find_map(|key| {
            let row = orphan_of(case, execution, child, key)?;
            Some(OrphanRow {
                table: child.name.clone(),
                parent: key.parent.clone(),
                row: compare::rows_text(&[row]),
                words: words(case, execution, (child, key), dialect),
            })
        })
    })
}

/// A row that refers to no row.
pub(super) struct OrphanRow {
    pub(super) table: String,
    pub(super) parent: String,
    /// As findings show it.
    pub(super) row: String,
    /// Of its signature.
    pub(super) words: Vec<String>,
}

/// What tells one broken key from another: what it does when its parent goes, whether the parent may have gone by a key of
/// its own, whether the orphan is a parent, too, and which writes may have deleted the parent.
fn words(
    case: &TestCase,
    execution: &Execution,
    (child, key): (&TableShape, &ForeignKey),
    dialect: &Dialect,
) -> Vec<String> {
    let action = match key.on_delete {
        ForeignKeyAction::Refuse => "refuse",
        ForeignKeyAction::Cascade => "cascade",
        ForeignKeyAction::Set => "set",
    };
    let mut words = vec!["orphan".to_owned(), format!("orphan-on-delete:{action}")];
    let cascades = |shape: &TableShape| {
        let mut keys = shape.foreign_keys.iter();
        keys.any(|key| key.on_delete == ForeignKeyAction::Cascade)
    };
    if case.table(&key.parent).is_some_and(cascades) {
        words.push("orphan-of-a-cascade".to_owned());
    }
    let mut keys = case.tables.iter().flat_map(|table| &table.foreign_keys);
    if keys.any(|key| key.parent == child.name) {
        words.push("orphan-is-a-parent".to_owned());
    }
    if dialect.supports(Capability::MergesOwnChanges)
        && ran_past_a_commit(case, execution, &key.parent, &child.name)
    {
        words.push("orphan-past-a-commit".to_owned());
    }
    let kinds = writes_of(case, &key.parent)
        .filter(|statement| execution.records.contains_key(&statement.id))
        .map(|statement| statement.effect.kind.to_string());
    words.extend(kinds);
    words
}

fn writes_of<'c>(case: &'c TestCase, table: &str) -> impl Iterator<Item = &'c CaseStatement> {
    case.user_statements().filter(move |statement| {
        let mut targets = statement.effect.targets();
        statement.effect.kind.is_write() && targets.any(|target| target == table)
    })
}

/// Whether a write of the parent was under way when another transaction that had written the child committed.
fn ran_past_a_commit(case: &TestCase, execution: &Execution, parent: &str, child: &str) -> bool {
    let records = &execution.records;
    let of_parent: Vec<_> = writes_of(case, parent)
        .filter_map(|statement| records.get(&statement.id))
        .collect();
    writes_of(case, child).any(|write| {
        let transaction = write.id.transaction;
        let mut own = case.statements.iter();
        let commit = own.find(|statement| {
            statement.id.transaction == transaction
                && statement.effect.kind == StatementKind::Commit
        });
        let sent = commit.and_then(|commit| Some(records.get(&commit.id)?.sent));
        sent.is_some_and(|sent| {
            let beside = |record: &&&StatementRecord| record.id.transaction != transaction;
            let mut others = of_parent.iter().filter(beside);
            others.any(|record| record.sent < sent && sent < record.answered)
        })
    })
}

/// Whether the set-up or a session has changed a setting, or done something that only the engine understands.
fn checks_may_be_off(case: &TestCase) -> bool {
    let harmless = |setting: Option<Setting>| setting.is_some_and(Setting::is_understood);
    let mut statements = case.statements.iter().map(|s| &s.effect);
    let sets = |sql: &str| {
        let word = sql.split_whitespace().next().unwrap_or_default();
        ["SET", "PRAGMA"]
            .iter()
            .any(|set| word.eq_ignore_ascii_case(set))
    };
    case.setup.iter().any(|s| sets(&s.sql))
        || statements.any(|effect| {
            let sets = effect.kind == StatementKind::Set && !harmless(effect.setting);
            sets || effect.kind == StatementKind::Opaque
        })
}

/// The first row that refers by this key to no row of its parent.
fn orphan_of(
    case: &TestCase,
    execution: &Execution,
    child: &TableShape,
    key: &ForeignKey,
) -> Option<Row> {
    let parent = case.table(&key.parent)?;
    let rows = execution.final_state.get(&child.name)?;
    let parents = execution.final_state.get(&parent.name)?;
    let places = |shape: &TableShape, columns: &[String]| -> Option<Vec<usize>> {
        columns.iter().map(|name| shape.column(name)).collect()
    };
    let own = places(child, &key.columns)?;
    let referenced = places(parent, &key.parent_columns)?;
    if own.len() != referenced.len() {
        return None;
    }
    let whole = |row: &&Row, places: &[usize]| {
        let mut values = places.iter().map(|at| row.get(*at));
        values.all(|value| value.is_some_and(|value| *value != Value::Null))
    };
    let integers = |row: &Row, places: &[usize]| -> Option<Vec<i128>> {
        places.iter().map(|at| integer(row.get(*at)?)).collect()
    };
    let known = parents.iter().filter(|row| whole(row, &referenced));
    let known = known.map(|row| integers(row, &referenced));
    let known: BTreeSet<Vec<i128>> = known.collect::<Option<_>>()?;
    let refers = |row: &&Row| integers(row, &own).is_some_and(|key| !known.contains(&key));
    rows.iter().find(refers).cloned()
}

fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Integer(number) => Some(i128::from(*number)),
        Value::Unsigned(number) => Some(i128::from(*number)),
        Value::Null
        | Value::Real(_)
        | Value::Decimal(_)
        | Value::Text(_)
        | Value::Bytes(_)
        | Value::Temporal(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::changed_one;
    use super::*;
    use crate::dialect::{ServerVersion, builtin, dialect_of, parse};
    use crate::model::Tick;
    use crate::reproducer::case_of;

    /// What is told of these rows of `t0 (a)` and `t1 (a, b)`, where `b` refers to `t0`.
    fn told_of(setting: &str, parents: &[Value], children: &[[Value; 2]]) -> Option<String> {
        let dialect = dialect_of("mysql", "9.7");
        let text = format!(
            "/* init */ CREATE TABLE t0 (a BIGINT PRIMARY KEY);\n\
             /* init */ CREATE TABLE t1 (a BIGINT PRIMARY KEY, b BIGINT, FOREIGN KEY (b) REFERENCES t0 (a));\n\
             {setting}/* s1 */ DELETE FROM t0 WHERE a = 3;\n"
        );
        let case = case_of(&text, &dialect);
        let mut execution = Execution::default();
        let parents = parents.iter().map(|value| vec![value.clone()]).collect();
        let children = children.iter().map(|row| row.to_vec()).collect();
        execution.final_state.insert("t0".to_owned(), parents);
        execution.final_state.insert("t1".to_owned(), children);
        find(&case, &execution, &dialect).map(|found| {
            format!(
                "a row of {} refers to no row of {}: {}",
                found.table, found.parent, found.row
            )
        })
    }

    #[test]
    fn a_row_without_the_one_that_it_refers_to_is_found_and_nothing_else_is() {
        let one = |number| Value::Integer(number);
        let parents = [one(1), Value::Unsigned(2)];
        let orphan = [[one(1), one(1)], [one(2), one(3)]];
        let told = told_of("", &parents, &orphan);
        assert_eq!(
            told.as_deref(),
            Some("a row of t1 refers to no row of t0: (2, 3)")
        );
        let sound = [[one(1), one(1)], [one(2), one(2)], [one(3), Value::Null]];
        assert_eq!(told_of("", &parents, &sound), None);
        let off = "/* s1 */ SET SESSION foreign_key_checks = 0;\n";
        assert_eq!(told_of(off, &parents, &orphan), None);
        // Numbers that may be equal and look different.
        assert_eq!(
            told_of("", &[Value::Decimal("3.0".to_owned())], &orphan),
            None
        );
    }

    /// The words of an orphan behind these statements, each sent at its place; the DELETE of the parent answers at this place.
    fn words_of(engine: &str, statements: &[(u32, &str)], deleted: u32) -> Vec<String> {
        let dialect = with_foreign_keys(engine);
        let mut text = "/* init */ CREATE TABLE t0 (a BIGINT PRIMARY KEY);\n\
             /* init */ CREATE TABLE t1 (a BIGINT PRIMARY KEY, b BIGINT, FOREIGN KEY (b) REFERENCES t0 (a));\n"
            .to_owned();
        for (session, sql) in statements {
            text.push_str(&format!("/* s{session} */ {sql};\n"));
        }
        let case = case_of(&text, &dialect);
        let mut execution = Execution::default();
        for (at, statement) in case.statements.iter().enumerate() {
            let at = u32::try_from(at).expect("few");
            let is_deletion = statement.effect.kind == StatementKind::Delete;
            let answered = Tick(if is_deletion { deleted } else { 10 * at + 1 });
            let record = changed_one(statement.id, Tick(10 * at), answered);
            execution.records.insert(statement.id, record);
        }
        execution.final_state.insert("t0".to_owned(), Vec::new());
        let orphan = vec![Value::Integer(1), Value::Integer(3)];
        execution.final_state.insert("t1".to_owned(), vec![orphan]);
        find(&case, &execution, &dialect).expect("an orphan").words
    }

    fn with_foreign_keys(engine: &str) -> Dialect {
        let text = builtin(engine).expect("listed");
        let list = "capabilities = [\n";
        let more = "  { name = \"foreign-key\" },\n";
        let text = match text.contains("\"foreign-key\"") {
            true => text.to_owned(),
            false => text.replacen(list, &format!("{list}{more}"), 1),
        };
        parse(engine, &text, &ServerVersion(vec![99])).expect("valid")
    }

    #[test]
    fn a_write_of_the_parent_beside_the_commit_of_a_child_is_named() {
        let word = "orphan-past-a-commit";
        let statements = [
            (1, "BEGIN"),
            (1, "INSERT INTO t1 VALUES (1, 3)"),
            (2, "DELETE FROM t0 WHERE a = 3"),
            (1, "COMMIT"),
        ];
        let named = |engine, statements: &[(u32, &str)], deleted| {
            words_of(engine, statements, deleted).contains(&word.to_owned())
        };
        assert!(named("tidb", &statements, 35));
        // It was answered before the other one was told to commit.
        assert!(!named("tidb", &statements, 25));
        let rolled_back =
            statements.map(|(session, sql)| (session, sql.replace("COMMIT", "ROLLBACK")));
        let rolled_back = rolled_back
            .each_ref()
            .map(|(session, sql)| (*session, sql.as_str()));
        assert!(!named("tidb", &rolled_back, 35));
        assert!(!named("mysql", &statements, 35));
    }
}
