//! Parts of signatures that all oracles share: levels, and what distinguishes statements.

use std::collections::BTreeSet;

use super::Evidence;
use super::own_changes::own_changes;
use crate::dialect::{Capability, Dialect};
use crate::model::{
    Aspect, CaseStatement, Column, Direction, ErrorClass, ForeignKey, ForeignKeyAction, Form,
    RESUMED, ReadMode, Role, Setting, StatementKind, TableShape, TableUse, TestCase,
    TransactionStatus,
};
use crate::statement::{self, TableRead, may_be_prepared, table_reads};

/// The oracles that run one statement alone on its view and word what differs alike.
const BY_STATEMENT: [&str; 2] = ["txcheck", "troc"];

/// Whether the findings of two oracles look alike, so that what explains the one explains the other.
pub fn tell_alike(one: &str, other: &str) -> bool {
    one == other || (BY_STATEMENT.contains(&one) && BY_STATEMENT.contains(&other))
}

/// The levels of a case as signatures name them: run, and claimed where that is stronger.
pub(super) fn finding_levels(case: &TestCase) -> Vec<String> {
    let levels: BTreeSet<String> = case
        .sessions()
        .into_iter()
        .map(|session| {
            let (run, judged) = (case.level(session), case.judged_level(session));
            if run == judged {
                run.to_string()
            } else {
                format!("{run} claimed {judged}")
            }
        })
        .collect();
    levels.into_iter().collect()
}

/// Every feature of a finding about one statement that the answers and their order show.
pub(super) fn statement_features(
    evidence: &Evidence,
    statement: &CaseStatement,
    direction: Direction,
) -> BTreeSet<String> {
    let mut features = form_features(evidence, statement);
    // A count that is too high was too low where it was predicted: in a serial run of any order.
    if direction == Direction::Higher {
        note_impossible_range(evidence, statement, &mut features);
    }
    features.insert(differs(direction));
    features.extend(circumstances(evidence, statement));
    features.extend(own_changes(evidence, statement));
    features
}

/// A condition that leaves a column of a partitioned table's partitioning no value came before.
const AFTER_IMPOSSIBLE_RANGE: &str = "after-impossible-range";

/// And the statement assigns a column of the key by which the rows of its table lie.
const ASSIGNS_CLUSTERED_KEY: &str = "assigns-clustered-key";

/// The statement waited at a level that looks again at the rows that changed meanwhile, and has a condition that may
/// be carried out as a join with the rows that are not there: PostgreSQL looks at a changed row without them.
const RECHECKED_ANTIJOIN: &str = "rechecked-antijoin";

/// Whether a statement that waits looks again at the rows that changed meanwhile.
fn looks_again(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let level = evidence.case.judged_level(statement.session);
    evidence.dialect.re_evaluates_after_wait.contains(&level)
}

/// The feature that says in which direction an outcome differs.
pub(super) fn differs(direction: Direction) -> String {
    format!("differs:{direction}")
}

/// The kind of a statement and what distinguishes findings because engines special-case it: its forms,
/// properties of the tables that it names, and what ran before it.
pub(super) fn form_features(evidence: &Evidence, statement: &CaseStatement) -> BTreeSet<String> {
    let effect = &statement.effect;
    let mut features: BTreeSet<String> = effect.forms.iter().map(ToString::to_string).collect();
    features.insert(effect.kind.to_string());
    for table in named_tables(&evidence.case, statement) {
        if let Some(partitioning) = &table.partitioning {
            features.insert(format!("partitioned-by-{}", partitioning.method));
        }
        for column in table.indexed_generated_columns() {
            let reads = statement::mentions(&statement.sql, &column.name, &evidence.dialect)
                || selects_every_column(&statement.sql)
                || (!column.stored && is_read_in_partitions(evidence, statement, table, column));
            if reads {
                features.insert(indexed_column(column));
            }
        }
    }
    if effect.forms.contains(&Form::DistinctAntijoin) && groups_by_index(evidence, statement) {
        features.insert(INDEXED_GROUPS.to_owned());
    }
    if follows_impossible_range(evidence, statement) {
        features.extend(after_impossible_range(&evidence.case, statement));
    }
    if may_scan_backwards(&evidence.dialect, statement) {
        features.insert(BACKWARD_SCAN.to_owned());
    }
    features
}

/// A column of a DISTINCT or GROUP BY is the first one of an index, by which MySQL may skip from one group to the next.
const INDEXED_GROUPS: &str = "indexed-groups";

fn groups_by_index(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let reads = table_reads(&statement.sql, &evidence.dialect);
    reads.iter().any(|read| {
        let (TableRead::Grouped { table, column } | TableRead::Distinct { table, column }) = read
        else {
            return false;
        };
        let leads = |index: &Vec<String>| {
            let first = index.first();
            first.is_some_and(|first| first.eq_ignore_ascii_case(column))
        };
        evidence.case.table(table).is_some_and(|shape| {
            let mut indexes = shape
                .keys()
                .chain(&shape.indexes)
                .chain(&shape.later_indexes);
            indexes.any(leads)
        })
    })
}

/// The feature of a table that has an index on a column which the engine computes.
pub(super) fn indexed_column(column: &Column) -> String {
    let storage = if column.stored { "stored" } else { "virtual" };
    format!("indexed-{storage}-column")
}

/// Whether a statement reads the partitions of a table, without locks, and may look for its rows in an index that holds a virtual
/// column: MariaDB reads every column of an index by which it looks into partitions. It looks for rows by the first column.
fn is_read_in_partitions(
    evidence: &Evidence,
    statement: &CaseStatement,
    table: &TableShape,
    column: &Column,
) -> bool {
    let reads =
        |used: &TableUse| used.table == table.name && !evidence.dialect.locks_rows_of(used.role);
    let is_part = |name: &String| name.eq_ignore_ascii_case(&column.name);
    let leads_there = |index: &Vec<String>| {
        let (sql, dialect) = (&statement.sql, &evidence.dialect);
        index.iter().any(is_part)
            && index.first().is_some_and(|first| {
                statement::names_in_condition(sql, &table.name, first, dialect)
            })
    };
    table.partitioning.is_some()
        && statement.effect.uses.iter().any(reads)
        && table.keys().chain(&table.indexes).any(leads_there)
}

/// The statement asks for something in descending order, or for a greatest value: it may scan an index from its end.
pub(super) const BACKWARD_SCAN: &str = "backward-scan";

/// Whether it does, where that matters.
pub(super) fn may_scan_backwards(dialect: &Dialect, statement: &CaseStatement) -> bool {
    let mentions = |word| statement::mentions(&statement.sql, word, dialect);
    dialect.supports(Capability::ScansBackwards) && (mentions("DESC") || mentions("MAX"))
}

/// A table that the statement names has an index on a virtual column and a foreign key with an action: MariaDB's
/// purge marks such an index as corrupted.
pub(super) const VIRTUAL_INDEX_BESIDE_ACTION: &str = "virtual-index-beside-action";

pub(super) fn has_virtual_index_beside_action(case: &TestCase, statement: &CaseStatement) -> bool {
    named_tables(case, statement).any(|table| {
        let acts = |key: &ForeignKey| {
            [key.on_delete, key.on_update]
                .iter()
                .any(|action| *action != ForeignKeyAction::Refuse)
        };
        let mut computed = table.indexed_generated_columns();
        computed.any(|column| !column.stored) && table.foreign_keys.iter().any(acts)
    })
}

/// A REPLACE takes rows of a second table with those that it deletes, and a third table refers to that one: MySQL looks for the
/// rows of the third by a key that it has not read. The finding is about what the keys of the third do.
const REPLACE_ABOVE_TWO_KEYS: &str = "replace-above-two-keys";

/// Whether a REPLACE of the case differs in an error of a foreign key, or in rows of a table whose parents it takes away by a
/// CASCADE. `expected` and `got` are texts: `error foreign-key (1451)`, `t2: (1, 2)`.
pub(super) fn replace_above_two_keys(
    case: &TestCase,
    statement: &CaseStatement,
    aspect: Aspect,
    [expected, got]: [&str; 2],
) -> Option<String> {
    let effect = &statement.effect;
    let goes = |parent: &str| {
        let mut uses = effect.uses.iter();
        uses.any(|used| used.role == Role::ForeignKeyTarget && used.table == parent)
    };
    let cascades = |parent: &TableShape| {
        let mut keys = parent.foreign_keys.iter();
        keys.any(|key| key.on_delete == ForeignKeyAction::Cascade)
    };
    let is_third = |table: &TableShape| {
        let mut keys = table.foreign_keys.iter();
        keys.any(|key| goes(&key.parent) && case.table(&key.parent).is_some_and(cascades))
    };
    let refusal = format!("error {}", ErrorClass::ForeignKey);
    let is_about_it = match aspect {
        Aspect::Error => {
            let mut answers = [expected, got].into_iter();
            answers.any(|answer| answer.starts_with(&refusal)) && case.tables.iter().any(is_third)
        }
        Aspect::Effect => {
            let table = expected.split_once(": ");
            table.is_some_and(|(table, _)| case.table(table).is_some_and(is_third))
        }
        Aspect::Rows | Aspect::Affected | Aspect::FinalState | Aspect::Waiting => false,
    };
    (effect.kind == StatementKind::Replace && is_about_it)
        .then(|| REPLACE_ABOVE_TWO_KEYS.to_owned())
}

/// The statement waited, and changes rows by a foreign key: where it was the victim of a deadlock, MySQL answers as if
/// nothing had happened.
pub(super) const WAITING_CASCADE: &str = "waiting-cascade";

/// An earlier statement of the transaction did.
pub(super) const AFTER_WAITING_CASCADE: &str = "after-waiting-cascade";

pub(super) fn follows_waiting_cascade(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let mut own = evidence.case.earlier_in_transaction(statement.id);
    own.any(|s| is_waiting_cascade(evidence, s))
}

pub(super) fn is_waiting_cascade(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let record = evidence.execution.records.get(&statement.id);
    let mut uses = statement.effect.uses.iter();
    uses.any(|table_use| table_use.role == Role::ForeignKeyTarget)
        && record.is_some_and(|record| record.waiting.is_some())
}

/// Notes that a statement of the case leaves no partition of a table that this one names, wherever it
/// stands: what a serial run of another order does before this one.
pub(super) fn note_impossible_range(
    evidence: &Evidence,
    statement: &CaseStatement,
    features: &mut BTreeSet<String>,
) {
    let mut others = evidence.case.statements.iter();
    if others.any(|other| prunes_all(&evidence.case, statement, other)) {
        features.extend(after_impossible_range(&evidence.case, statement));
    }
}

/// Whether a select list of the text is, or holds, all columns of a table.
fn selects_every_column(sql: &str) -> bool {
    let sql = sql.to_ascii_uppercase();
    ["SELECT *", "SELECT DISTINCT *", ".*"]
        .iter()
        .any(|form| sql.contains(form))
}

fn named_tables<'a>(
    case: &'a TestCase,
    statement: &'a CaseStatement,
) -> impl Iterator<Item = &'a TableShape> {
    let uses = statement.effect.uses.iter();
    uses.filter_map(|table_use| case.table(&table_use.table))
}

/// Whether a statement that was answered before this one left no partition of a table that this one
/// names.
fn follows_impossible_range(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let (case, records) = (&evidence.case, &evidence.execution.records);
    let came_before =
        |other: &&CaseStatement| match (records.get(&other.id), records.get(&statement.id)) {
            (Some(other), Some(own)) => other.answered < own.answered,
            _ => false,
        };
    let mut before = case.statements.iter().filter(came_before);
    before.any(|other| prunes_all(case, statement, other))
}

/// Whether another statement leaves no partition of a table that this one names: its condition leaves a
/// column of the partitioning no value.
fn prunes_all(case: &TestCase, statement: &CaseStatement, other: &CaseStatement) -> bool {
    named_tables(case, statement).any(|table| table.has_no_partition_left_by(&other.effect))
}

/// What distinguishes a statement behind one that left no partition: an UPDATE that assigns the key by which rows lie
/// notes their places first, as one with ORDER BY and LIMIT does.
fn after_impossible_range(case: &TestCase, statement: &CaseStatement) -> Vec<String> {
    let assigns = |table: &TableShape| {
        let mut key = table.clustered_key().into_iter().flatten();
        key.any(|column| {
            statement
                .effect
                .assigned
                .contains_key(&column.to_lowercase())
        })
    };
    let moves = statement.effect.kind == StatementKind::Update
        && named_tables(case, statement).any(assigns);
    let words = [AFTER_IMPOSSIBLE_RANGE].into_iter();
    let words = words.chain(moves.then_some(ASSIGNS_CLUSTERED_KEY));
    words.map(str::to_owned).collect()
}

/// What the statement's session had set before it: the variables of the optimizer and the modes, with their values.
pub(super) fn settings_before(evidence: &Evidence, statement: &CaseStatement) -> Vec<String> {
    let before = evidence.case.statements.iter();
    let before = before.take_while(|s| s.id != statement.id);
    let own = before.filter(|s| s.session == statement.session);
    let sets = own.filter(|s| matches!(s.effect.setting, Some(Setting::Plan | Setting::Mode)));
    let words = sets.filter_map(|s| statement::assignment(&s.sql, &evidence.dialect));
    words.map(|word| format!("sets:{word}")).collect()
}

/// What other transactions did around a statement: whether there are any, whether it waited, the kinds
/// of their writes and locking reads of the tables that it names, and whether these were still open. One
/// that was waiting is open, too: it holds the locks that it got, and InnoDB shows the rows that it changed.
fn circumstances(evidence: &Evidence, statement: &CaseStatement) -> BTreeSet<String> {
    let (case, execution) = (&evidence.case, &evidence.execution);
    let mut features = BTreeSet::new();
    let others = |s: &&CaseStatement| s.id.transaction != statement.id.transaction;
    if !case.user_statements().any(|s| others(&s)) {
        features.insert("alone".to_owned());
    }
    features.extend(settings_before(evidence, statement));
    if case.prepared.contains(&statement.session) && may_be_prepared(statement.effect.kind) {
        features.insert("prepared".to_owned());
    }
    let Some(record) = execution.records.get(&statement.id) else {
        return features;
    };
    if record.resumed() {
        features.insert(RESUMED.to_owned());
        if statement.effect.antijoin && looks_again(evidence, statement) {
            features.insert(RECHECKED_ANTIJOIN.to_owned());
        }
    }
    if let Some(class) = record.outcome.error_class() {
        features.insert(format!("error:{class}"));
    }
    for other in case.statements.iter().filter(others) {
        let Some(before) = execution.records.get(&other.id) else {
            continue;
        };
        // One that does not wait meets the locks of reads without a clause, too, where these take any.
        let may_lock = |u: &TableUse| {
            let reads_current = || evidence.promised_mode(other, u.role) == ReadMode::Current;
            evidence.dialect.locks_rows_of(u.role) || (statement.effect.nowait && reads_current())
        };
        let touches = |u: &TableUse| {
            may_lock(u) && statement.effect.uses.iter().any(|own| own.table == u.table)
        };
        if !other.effect.uses.iter().any(touches) {
            continue;
        }
        if before.answered > record.answered {
            let waited_before = before.waiting.is_some_and(|waiting| waiting < record.sent);
            // The two ends of a deadlock are answered together, and which is heard first is chance.
            let ran_beside = record.resumed() && before.sent < record.answered;
            if waited_before || ran_beside {
                features.insert(format!("open:{}", other.effect.kind));
            }
            continue;
        }
        let rejected = before.outcome.error_class();
        if rejected.is_some_and(ErrorClass::is_concurrency) {
            continue;
        }
        let locks = !other.effect.kind.is_write();
        let state = match execution.transactions.get(&other.id.transaction) {
            Some(TransactionStatus::Committed(end)) if *end < record.sent => "committed",
            Some(TransactionStatus::Aborted(end)) if *end < record.sent => "rolled-back",
            Some(
                TransactionStatus::Committed(_)
                | TransactionStatus::Aborted(_)
                | TransactionStatus::Indeterminate,
            )
            | None => "open",
        };
        // A lock that is gone leaves nothing behind, and a write that was rejected leaves its locks.
        if state == "open" || !(locks || rejected.is_some()) {
            features.insert(format!("{state}:{}", other.effect.kind));
        }
    }
    features
}
