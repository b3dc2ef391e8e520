//! The history of a case as Elle reads it: Jepsen's operations in EDN, one map a line.
//!
//! A case on one table of keys and values is such a history: a transaction is an operation `:txn`
//! whose value lists its reads and writes. What ran is known from the notes of the file alone.

use std::collections::BTreeMap;

use super::case_format::{CaseFormat, DoesNotApply, Exported};
use super::scenario::{own_dialect, told_case};
use crate::dialect::{Dialect, RejectionEnd};
use crate::history::format::by_name;
use crate::history::{Atom, Builder, Event, Head, HistoryError, Kind, Span, Status};
use crate::model::{CaseStatement, Pace, SessionId, StatementKind, TransactionId};
use crate::reproducer::{CaseFile, CaseLine, Cell, Expectation, Tag};
use crate::statement::KeyAccess;
use crate::workload::KeyAccesses;

/// The session that writes the rows of the set-up; those of the case are counted from 1.
const SETUP: u32 = 0;

pub(super) struct Edn;

impl CaseFormat for Edn {
    fn name(&self) -> &'static str {
        "edn"
    }

    fn about(&self) -> &'static str {
        "the history of a case of keys and values, as Elle reads it"
    }

    fn extension(&self) -> &'static str {
        "edn"
    }

    fn write(&self, file: &CaseFile) -> Result<Exported, DoesNotApply> {
        let mut exported = Exported::of(history(file)?);
        let is_free = file.header.pace == Pace::Free;
        exported.remark = is_free.then(|| {
            "the sessions ran at the free pace, and the order of the lines is not that of real time: \
             check it against a model without real time, such as serializable"
                .to_owned()
        });
        Ok(exported)
    }
}

/// How a transaction ended, as far as its session knows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It has not ended yet.
    Open,
    Committed,
    Aborted,
    Unknown,
}

/// One read or write of a key, with the value that was read or written; none for a row that is not there.
struct KeyEvent {
    kind: Kind,
    key: i64,
    value: Option<i64>,
}

struct TransactionRun {
    session: SessionId,
    events: Vec<KeyEvent>,
    fate: Fate,
    /// The statement that it begins with and the one that it ends with, by their places in the order of
    /// sending.
    first: usize,
    last: usize,
}

fn history(file: &CaseFile) -> Result<String, DoesNotApply> {
    let dialect = own_dialect(file)?;
    let case = told_case(file, &dialect)?;
    let keys = KeyAccesses::of(&case, &dialect).ok_or_else(|| {
        DoesNotApply(
            "the case is no history of keys and values: one table of an integer key and an integer, \
             read and written by its key in transactions, no value written to a key twice \
             (docs/oracle-history.md)"
                .to_owned(),
        )
    })?;
    let is_of_session = |line: &&CaseLine| matches!(line.tag, Tag::Session(_));
    let lines: Vec<&CaseLine> = file.lines.iter().filter(is_of_session).collect();
    let mut runs: BTreeMap<TransactionId, TransactionRun> = BTreeMap::new();
    for (place, (line, statement)) in lines.iter().zip(&case.statements).enumerate() {
        let run = runs.entry(statement.id.transaction);
        let run = run.or_insert_with(|| TransactionRun {
            session: statement.session,
            events: Vec::new(),
            fate: Fate::Open,
            first: place,
            last: place,
        });
        run.last = place;
        let is_alone = !case.is_explicit(statement.id.transaction);
        add(run, (line, is_alone), statement, &keys, &dialect)?;
    }
    let written = written(&runs, &lines, &keys.initial);
    written.map_err(|error| DoesNotApply(error.to_string()))
}

/// Adds what a statement did to its transaction, of which it may be all.
fn add(
    run: &mut TransactionRun,
    (line, is_alone): (&CaseLine, bool),
    statement: &CaseStatement,
    keys: &KeyAccesses,
    dialect: &Dialect,
) -> Result<(), DoesNotApply> {
    let kind = statement.effect.kind;
    let seen = line.observations().into_iter().next();
    if let Some(Expectation::Error(class)) = seen {
        run.fate = match dialect.ends_transaction(class) {
            RejectionEnd::Never if !is_alone => run.fate,
            RejectionEnd::Sometimes if !is_alone => Fate::Unknown,
            RejectionEnd::Never | RejectionEnd::Sometimes | RejectionEnd::Always => Fate::Aborted,
        };
        return Ok(());
    }
    let is_committed = is_alone || kind == StatementKind::Commit;
    if is_committed && run.fate == Fate::Open {
        run.fate = Fate::Committed;
    } else if kind == StatementKind::Rollback {
        run.fate = Fate::Aborted;
    }
    let Some(access) = keys.accesses.get(&statement.id) else {
        return Ok(());
    };
    let is_there = keys.initial.contains_key(&access.key);
    let event = event(access, seen.as_ref(), is_there);
    let event = event.map_err(|problem| {
        let sql = &line.sql;
        DoesNotApply(format!(
            "{problem}: {sql}; `rashomon replay` shows the answers"
        ))
    })?;
    run.events.extend(event);
    Ok(())
}

/// What an accepted statement did to its key; nothing where there is no row to write.
fn event(
    access: &KeyAccess,
    seen: Option<&Expectation>,
    is_there: bool,
) -> Result<Option<KeyEvent>, &'static str> {
    let key = access.key;
    let kind = Kind::Read;
    let read = |value| KeyEvent { kind, key, value };
    match (access.written, seen) {
        // The row is there and the value is another: it read that the row is gone.
        (Some(_), Some(Expectation::Affected(0))) if is_there => Ok(Some(read(None))),
        (Some(value), _) => Ok(is_there.then_some(KeyEvent {
            kind: Kind::Write,
            key,
            value: Some(value),
        })),
        (None, Some(Expectation::Rows(rows))) => match rows.as_slice() {
            [] => Ok(Some(read(None))),
            [row] => Ok(Some(read(cell(row)?))),
            _ => Err("the file notes an answer of several rows"),
        },
        (None, _) => Err("the file notes no answer of a read"),
    }
}

fn cell(row: &[Cell]) -> Result<Option<i64>, &'static str> {
    const STRANGE: &str = "the file notes an answer that is no whole number";
    match row {
        [Cell::Null] => Ok(None),
        [Cell::Number(number)] => number.parse().map(Some).map_err(|_| STRANGE),
        _ => Err(STRANGE),
    }
}

/// The text of the history. Its times are the places of statements in the order of sending.
fn written(
    runs: &BTreeMap<TransactionId, TransactionRun>,
    lines: &[&CaseLine],
    initial: &BTreeMap<i64, i64>,
) -> Result<String, HistoryError> {
    let mut builder = Builder::new(Atom::NIL);
    let atom = |value: Option<i64>| value.and_then(Atom::integer).unwrap_or(Atom::NIL);
    let head = |session: u32, label: u32, status, from: usize, to: usize| Head {
        session: session.into(),
        label: label.into(),
        status,
        timestamps: None,
        real_time: Some(Span {
            from: i64::try_from(from).unwrap_or(i64::MAX),
            to: i64::try_from(to).unwrap_or(i64::MAX),
        }),
    };
    let mut events = Vec::new();
    for (key, value) in initial {
        let key = builder.key(atom(Some(*key)))?;
        let (kind, value) = (Kind::Write, atom(Some(*value)));
        events.push(Event { kind, key, value });
    }
    if !events.is_empty() {
        builder.transaction(&head(SETUP, 0, Status::Committed, 0, 1), events)?;
    }
    for (id, run) in runs.iter().filter(|(_, run)| !run.events.is_empty()) {
        let status = match run.fate {
            Fate::Committed => Status::Committed,
            Fate::Aborted => Status::Aborted,
            Fate::Open | Fate::Unknown => Status::Indeterminate,
        };
        let mut events = Vec::new();
        for KeyEvent { kind, key, value } in &run.events {
            let (kind, key) = (*kind, builder.key(atom(Some(*key)))?);
            let value = atom(*value);
            events.push(Event { kind, key, value });
        }
        // Behind the set-up; a statement is sent at an even time and answered at an odd one.
        let (sent, answered) = (2 + 2 * run.first, 3 + 2 * answered(run, lines));
        builder.transaction(&head(run.session.0, id.0, status, sent, answered), events)?;
    }
    let mut text = Vec::new();
    if let Some(write) = by_name("elle").and_then(|format| format.write) {
        write(&builder.finish(), &mut text)?;
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The statement with which the last one of a transaction was answered: itself, or the one that
/// resumed it.
fn answered(run: &TransactionRun, lines: &[&CaseLine]) -> usize {
    let notes = &lines[run.last].notes;
    let mut names = notes.iter().map(|note| note.name.as_str());
    if !names.any(|name| name == "waits" || name == "blocks") {
        return run.last;
    }
    let session = run.session.to_string();
    let resumes = |line: &&CaseLine| {
        let notes = line.notes.iter().filter(|note| note.name == "resumes");
        let mut words = notes.flat_map(|note| note.text.split([',', ' ']));
        words.any(|word| word == session)
    };
    let resumer = lines.iter().skip(run.last).position(resumes);
    resumer.map_or(lines.len(), |after| run.last + after)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::checker::{self, Answer, Budget};
    use crate::history::format::by_name;
    use crate::model::ConsistencyModel;
    use crate::reproducer::read;

    const HEAD: &str = "--! format = 1
--! engine = \"mariadb\"
--! isolation = \"READ COMMITTED\"
--! session_setup = []
/* init */ CREATE TABLE t (k INT PRIMARY KEY, v INT);
/* init */ INSERT INTO t (k, v) VALUES (1, 10), (2, 20);
";

    const LOST_UPDATE: &str = "/* s1 */ BEGIN;
/* s1 */ SELECT v FROM t WHERE k = 1; -- @got (10)
/* s2 */ BEGIN;
/* s2 */ SELECT v FROM t WHERE k = 1; -- @got (10)
/* s1 */ UPDATE t SET v = 11 WHERE k = 1; -- @got affected 1
/* s1 */ COMMIT;
/* s2 */ UPDATE t SET v = 12 WHERE k = 1; -- @got affected 1
/* s2 */ COMMIT;
/* s3 */ UPDATE t SET v = 21 WHERE k = 2; -- @got affected 1
/* s3 */ BEGIN;
/* s3 */ UPDATE t SET v = 22 WHERE k = 2; -- @error deadlock
/* s3 */ BEGIN;
/* s3 */ UPDATE t SET v = 23 WHERE k = 2; -- @got affected 1
/* s3 */ ROLLBACK;
/* s3 */ BEGIN;
/* s3 */ UPDATE t SET v = 24 WHERE k = 2; -- @got affected 1
/* s3 */ SELECT v FROM t WHERE k = 3; -- @got empty
";

    fn exported(lines: &str) -> Result<Exported, DoesNotApply> {
        Edn.write(&read(&format!("{HEAD}{lines}"), "x.sql").unwrap())
    }

    #[test]
    fn transactions_are_operations_with_their_ends() {
        let expected = expect![[r#"
            {:index 0, :type :invoke, :process 0, :f :txn, :value [[:w 1 10] [:w 2 20]]}
            {:index 1, :type :ok, :process 0, :f :txn, :value [[:w 1 10] [:w 2 20]]}
            {:index 2, :type :invoke, :process 1, :f :txn, :value [[:r 1 nil] [:w 1 11]]}
            {:index 3, :type :invoke, :process 2, :f :txn, :value [[:r 1 nil] [:w 1 12]]}
            {:index 4, :type :ok, :process 1, :f :txn, :value [[:r 1 10] [:w 1 11]]}
            {:index 5, :type :ok, :process 2, :f :txn, :value [[:r 1 10] [:w 1 12]]}
            {:index 6, :type :invoke, :process 3, :f :txn, :value [[:w 2 21]]}
            {:index 7, :type :ok, :process 3, :f :txn, :value [[:w 2 21]]}
            {:index 8, :type :invoke, :process 3, :f :txn, :value [[:w 2 23]]}
            {:index 9, :type :fail, :process 3, :f :txn, :value [[:w 2 23]]}
            {:index 10, :type :invoke, :process 3, :f :txn, :value [[:w 2 24] [:r 3 nil]]}
            {:index 11, :type :info, :process 3, :f :txn, :value [[:w 2 24] [:r 3 nil]]}
        "#]];
        expected.assert_eq(&exported(LOST_UPDATE).unwrap().text);
    }

    #[test]
    fn a_statement_that_waits_alone_ends_behind_the_one_that_resumes_it() {
        let text = exported(
            "/* s1 */ BEGIN;
/* s1 */ UPDATE t SET v = 11 WHERE k = 1; -- @got affected 1
/* s2 */ UPDATE t SET v = 12 WHERE k = 1; -- @blocks s1 @got affected 1
/* s1 */ COMMIT; -- @resumes s2
/* s3 */ SELECT v FROM t WHERE k = 1; -- @got (12)",
        );
        let text = text.unwrap().text;
        let order: Vec<String> = text
            .lines()
            .skip(2)
            .map(|line| {
                line.split(", :")
                    .skip(1)
                    .take(2)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        let expected = [
            "type :invoke process 1",
            "type :invoke process 2",
            "type :ok process 1",
            "type :ok process 2",
            "type :invoke process 3",
            "type :ok process 3",
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn a_checker_that_reads_it_finds_what_the_case_shows() {
        let text = exported(LOST_UPDATE).unwrap().text;
        let format = by_name("elle").unwrap();
        let history = (format.read)(&mut text.as_bytes()).unwrap();
        for (model, is_violated) in [
            (ConsistencyModel::ReadCommitted, false),
            (ConsistencyModel::Snapshot, true),
        ] {
            let answer = checker::check(&history, model, Budget::of(None)).1;
            let violated = matches!(answer, Answer::Violated(_));
            assert_eq!(violated, is_violated, "{model}");
        }
    }

    #[test]
    fn what_is_no_history_is_refused_with_the_reason() {
        for (lines, reason) in [
            (
                "/* s1 */ SELECT v FROM t; -- @got (1)",
                "no history of keys",
            ),
            (
                "/* s1 */ SELECT v FROM t WHERE k = 1;",
                "no answer of a read",
            ),
            (
                "/* s1 */ SELECT v FROM t WHERE k = 1; -- @got ('x')",
                "no whole number",
            ),
        ] {
            let refused = exported(lines).unwrap_err().to_string();
            assert!(refused.contains(reason), "{refused}");
        }
    }
}
