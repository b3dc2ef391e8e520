//! The self-check of writes: the rows that changed are as many as the engine counted.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::dialect::{AffectedRows, ChangedRows};
use crate::model::{
    CaseStatement, Outcome, StatementId, StatementKind, StatementRecord, Tick, TransactionId,
    TransactionStatus, UndecidedReason,
};
use crate::oracle::evidence::{Evidence, Miscount};
use crate::statement;

/// The writes of a run that fail the self-check |BWR| = affected = |AWR| (TxCheck, section 4).
pub(in crate::oracle) fn miscounts(evidence: &Evidence) -> &[Miscount] {
    evidence.miscounts.get_or_init(|| {
        let statements = evidence.case.user_statements();
        let miscounts = statements.filter_map(|statement| miscount(evidence, statement));
        miscounts.collect()
    })
}

/// Whether a statement fails the self-check: it has a change of another, or another has one of its
/// own.
pub(in crate::oracle) fn is_miscounted(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let mut all = miscounts(evidence).iter();
    all.any(|miscount| miscount.statement == statement.id)
}

fn miscount(evidence: &Evidence, statement: &CaseStatement) -> Option<Miscount> {
    let record = evidence.execution.records.get(&statement.id)?;
    let answered = affected(statement, record)?;
    // Of a table without a row key no change is known.
    let keyed = |table: &str| {
        let shape = evidence.case.table(table);
        shape.is_some_and(|shape| shape.row_key.is_some())
    };
    if !statement.effect.targets().all(keyed) {
        return None;
    }
    // Whether a row of such a table was counted depends on which came first, as does what was read of it.
    if statement.effect.changes_what_it_uses() {
        return None;
    }
    let changed = evidence.account.changed_rows(statement);
    let counts = evidence.dialect.counts_of(record);
    let allowed = allowed_counts(evidence, statement, counts, changed);
    let fits = allowed.is_some_and(|allowed| allowed.contains(&answered));
    (!fits).then(|| Miscount {
        statement: statement.id,
        answered,
        changed,
        hidden_among: hidden_among(evidence, statement),
    })
}

/// Writes of which a version is missing from the account, or came to light only later: two writes of
/// one table ended between the same two observations, the second over the first.
pub(in crate::oracle) fn overwritten_unseen(evidence: &Evidence) -> BTreeSet<StatementId> {
    const LATE: UndecidedReason = UndecidedReason::ChangesAndAffectedRowsDisagree;
    let unsure = evidence.account.unsure.iter();
    let late = unsure
        .filter(|(_, reason)| **reason == LATE)
        .map(|(id, _)| *id);
    let statements = evidence.case.user_statements();
    let hidden = statements.filter(|statement| {
        let Some(record) = evidence.execution.records.get(&statement.id) else {
            return false;
        };
        let (answered, counts) = (
            affected(statement, record),
            evidence.dialect.counts_of(record),
        );
        let changed = evidence.account.changed_rows(statement);
        let allowed = allowed_counts(evidence, statement, counts, changed);
        // An upsert or REPLACE may count more than changed; beside who may have written over it, that
        // is doubt enough.
        answered.is_some_and(|answered| allowed.is_none_or(|allowed| *allowed.start() != answered))
            && !hidden_among(evidence, statement).is_empty()
    });
    hidden.map(|statement| statement.id).chain(late).collect()
}

/// Whether a write may have changed rows that its answer does not count, by a trigger or a foreign key, and another statement wrote
/// over rows of that table between the same two observations: what the first one left there, and the second one met, nothing
/// shows.
pub(in crate::oracle) fn written_over_uncounted(evidence: &Evidence) -> bool {
    let account = &evidence.account;
    let mut statements = evidence.case.user_statements();
    statements.any(|statement| {
        let uses = statement.effect.uses.iter();
        let mut uncounted = uses.filter(|used| used.role.is_unnamed_target()).peekable();
        let record = evidence.execution.records.get(&statement.id);
        let wrote = record.and_then(StatementRecord::changed_rows);
        if uncounted.peek().is_none() || wrote.is_none_or(|rows| rows == 0) {
            return false;
        }
        let among = hidden_among(evidence, statement);
        let changes = among.iter().filter_map(|other| account.changes.get(other));
        let over: BTreeSet<&str> = changes
            .flatten()
            .filter(|change| {
                let before = change.before.map(|before| account.chains.version(before));
                before.is_some_and(|before| before.writer != statement.id)
            })
            .map(|change| change.table.as_str())
            .collect();
        uncounted.any(|used| over.contains(used.table.as_str()))
    })
}

/// How many rows a write says that it changed.
fn affected(statement: &CaseStatement, record: &StatementRecord) -> Option<u64> {
    let is_read = matches!(record.outcome, Outcome::Rows(_)) && !statement.effect.kind.is_write();
    record.changed_rows().filter(|_| !is_read)
}

/// The counts that the engine, as it counts rows here, may answer for the changes of a write; None where
/// no count fits.
fn allowed_counts(
    evidence: &Evidence,
    statement: &CaseStatement,
    counts: AffectedRows,
    changed: ChangedRows,
) -> Option<RangeInclusive<u64>> {
    let dialect = &evidence.dialect;
    let has = |word: &str| statement::mentions(&statement.sql, word, dialect);
    match statement.effect.kind {
        StatementKind::Update => counts.of_update(changed),
        StatementKind::Delete => counts.of_delete(changed),
        StatementKind::Insert | StatementKind::InsertSelect
            if has("DUPLICATE") || has("CONFLICT") =>
        {
            counts.of_upsert(changed)
        }
        StatementKind::Insert | StatementKind::InsertSelect => counts.of_insert(changed),
        StatementKind::Replace => counts.of_replace(changed),
        StatementKind::Merge => Some(counts.of_merge(changed)),
        StatementKind::Begin
        | StatementKind::BeginSnapshot
        | StatementKind::BeginImmediate
        | StatementKind::Commit
        | StatementKind::Rollback
        | StatementKind::Savepoint
        | StatementKind::RollbackTo
        | StatementKind::ReleaseSavepoint
        | StatementKind::Select
        | StatementKind::LockingSelect
        | StatementKind::Set
        | StatementKind::PhysicalDdl
        | StatementKind::LockTable
        | StatementKind::Opaque => Some(0..=u64::MAX),
    }
}

/// Who may have written over a row of this statement before anything could show it, or had a row
/// written over by it: a row's next writer waits for the end of the transaction before, so one of
/// the two ended between the two observations.
fn hidden_among(evidence: &Evidence, statement: &CaseStatement) -> BTreeSet<StatementId> {
    let mut among = BTreeSet::new();
    let mut since = Tick::default();
    for observation in &evidence.execution.observations {
        let window = (since, observation.tick);
        since = observation.tick;
        if !observation.active.contains(&statement.id) {
            continue;
        }
        let shares = |other: &CaseStatement| {
            let mut targets = other.effect.targets();
            targets.any(|table| statement.effect.targets().any(|own| own == table))
        };
        let ended = |id: StatementId| ended_within(evidence, id.transaction, window);
        let over = |id: &StatementId| {
            *id != statement.id
                && evidence.case.statement(*id).is_some_and(shares)
                && (ended(statement.id) || ended(*id))
                && !is_stuck(evidence, *id, statement.id, window)
        };
        among.extend(observation.active.iter().copied().filter(over));
    }
    among
}

/// Whether a statement waited all through a window, in which no transaction but that of `writer`
/// ended: it waits for a third one, and has not moved.
fn is_stuck(
    evidence: &Evidence,
    id: StatementId,
    writer: StatementId,
    window: (Tick, Tick),
) -> bool {
    let record = evidence.execution.records.get(&id);
    let waits = record.is_some_and(|record| {
        record.waiting.is_some_and(|tick| tick < window.0) && record.answered > window.1
    });
    let mut transactions = evidence.execution.transactions.keys();
    waits
        && !transactions.any(|transaction| {
            *transaction != writer.transaction && ended_within(evidence, *transaction, window)
        })
}

fn ended_within(evidence: &Evidence, transaction: TransactionId, window: (Tick, Tick)) -> bool {
    match evidence.execution.transactions.get(&transaction) {
        Some(TransactionStatus::Committed(end) | TransactionStatus::Aborted(end)) => {
            (window.0..window.1).contains(end)
        }
        Some(TransactionStatus::Indeterminate) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dialect::dialect_of;
    use crate::model::{
        EventKind, Execution, ExecutionEvent, Observation, Row, StatementRecord, TestCase, Value,
    };
    use crate::observe::{Learner, learn};
    use crate::oracle::Evidence;
    use crate::reproducer::case_of;

    const BOTH_BY_NAME: &str = "--! isolation = \"READ COMMITTED\"\n\
         /* init */ CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT);\n\
         /* s1 */ UPDATE t SET vkey = 1001;\n\
         /* s2 */ UPDATE t SET vkey = 1002;\n";

    const ONE_BY_TRIGGER: &str = "--! isolation = \"READ COMMITTED\"\n\
         /* init */ CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT);\n\
         /* init */ CREATE TABLE u (pkey INT PRIMARY KEY, vkey INT);\n\
         /* init */ CREATE TRIGGER g AFTER UPDATE ON u FOR EACH ROW UPDATE t SET vkey = NEW.vkey WHERE pkey = NEW.pkey;\n\
         /* s1 */ UPDATE u SET vkey = 1001;\n\
         /* s2 */ UPDATE t SET vkey = 1002;\n";

    fn evidence(looks: &[(&[u32], i64)], answered: [u64; 2]) -> Evidence {
        evidence_of(BOTH_BY_NAME, looks, answered)
    }

    /// Two sessions that update the only row, in autocommit and woken by one release or in turn, with
    /// the row that the observer saw after the writes of each look.
    fn evidence_of(case: &str, looks: &[(&[u32], i64)], answered: [u64; 2]) -> Evidence {
        let dialect = dialect_of("mysql", "9.7.0");
        let case = case_of(case, &dialect);
        let execution = play(&case, looks, answered);
        let mut evidence = Evidence::of_answers(case, execution, Arc::new(dialect));
        evidence.initial = [("t".to_owned(), vec![row(1)])].into();
        evidence.account = learn(
            &evidence.case,
            &evidence.execution,
            &evidence.timeline,
            &evidence.initial,
            &evidence.dialect,
            Learner::Observer,
        );
        evidence
    }

    fn row(version: i64) -> Row {
        vec![Value::Integer(1), Value::Integer(version)]
    }

    fn play(case: &TestCase, looks: &[(&[u32], i64)], answered: [u64; 2]) -> Execution {
        let mut execution = Execution::default();
        let mut tick = Tick(0);
        let mut next = || {
            tick = Tick(tick.0 + 1);
            tick
        };
        for (active, version) in looks {
            let ids = active
                .iter()
                .map(|place| case.statements[*place as usize - 1].id);
            let active: Vec<StatementId> = ids.collect();
            for id in &active {
                let (sent, end) = (next(), next());
                for (tick, kind) in [(sent, EventKind::Sent), (end, EventKind::Answered)] {
                    let statement = *id;
                    execution.events.push(ExecutionEvent {
                        tick,
                        statement,
                        kind,
                    });
                }
                let count = answered[usize::from(*id != case.statements[0].id)];
                let record = StatementRecord {
                    id: *id,
                    sent,
                    waiting: None,
                    waited_for: Vec::new(),
                    answered: end,
                    outcome: Outcome::Affected(count),
                    transaction_survives: false,
                    counted: None,
                    reported: None,
                    command_tag: None,
                };
                execution.records.insert(*id, record);
                let committed = TransactionStatus::Committed(end);
                execution.transactions.insert(id.transaction, committed);
            }
            execution.observations.push(Observation {
                tick: next(),
                active,
                tables: [("t".to_owned(), vec![row(*version)])].into(),
            });
            execution.final_state = [("t".to_owned(), vec![row(*version)])].into();
        }
        execution
    }

    #[test]
    fn writes_that_do_what_they_say_pass() {
        let evidence = evidence(&[(&[1], 1001), (&[2], 1002)], [1, 1]);
        assert_eq!(miscounts(&evidence), []);
    }

    #[test]
    fn a_write_that_lies_is_not_excused_by_one_that_ended_in_another_look() {
        let evidence = evidence(&[(&[1], 1), (&[2], 1002)], [1, 1]);
        let all = miscounts(&evidence);
        assert_eq!(all.len(), 1, "{all:?}");
        assert_eq!(all[0].statement, evidence.case.statements[0].id);
        assert!(all[0].hidden_among.is_empty(), "{all:?}");
        assert!(overwritten_unseen(&evidence).is_empty());
    }

    #[test]
    fn a_version_written_over_in_the_same_look_is_excused_with_who_wrote_over_it() {
        let evidence = evidence(&[(&[1, 2], 1002)], [1, 1]);
        let [first, second] = [0, 1].map(|place| evidence.case.statements[place].id);
        assert_eq!(overwritten_unseen(&evidence), [first].into());
        assert_eq!(miscounts(&evidence)[0].hidden_among, [second].into());
    }

    #[test]
    fn what_a_trigger_wrote_is_unknown_only_where_it_was_written_over_in_the_same_look() {
        let together: &[(&[u32], i64)] = &[(&[1, 2], 1002)];
        let in_turn: &[(&[u32], i64)] = &[(&[1], 1001), (&[2], 1002)];
        let unknown = |case, looks, answered| {
            let evidence = evidence_of(case, looks, answered);
            written_over_uncounted(&evidence)
        };
        assert!(unknown(ONE_BY_TRIGGER, together, [1, 1]));
        assert!(!unknown(ONE_BY_TRIGGER, in_turn, [1, 1]));
        // It has changed no row, so its trigger did not fire.
        assert!(!unknown(ONE_BY_TRIGGER, together, [0, 1]));
        // The count tells.
        assert!(!unknown(BOTH_BY_NAME, together, [1, 1]));
    }

    #[test]
    fn a_count_off_by_one_fails() {
        let evidence = evidence(&[(&[1], 1001), (&[2], 1002)], [2, 1]);
        let all = miscounts(&evidence);
        assert_eq!(
            (all.len(), all[0].answered, all[0].changed.other),
            (1, 2, 1)
        );
    }
}
