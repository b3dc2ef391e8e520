//! Two runs of a case beside each other: whether they are the same, and where they part.

use std::collections::BTreeSet;

use crate::engine::Identity;
use crate::model::{
    ErrorClass, EventKind, Execution, Outcome, Row, SessionId, StatementId, StatementRecord,
    TestCase, Verdict,
};
use crate::oracle::same_rows;

/// What differs first between two runs of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartingKind {
    /// The set-up is taken by one server only.
    SetUp,
    /// A statement waits in one run only.
    Waits,
    /// A statement is sent in one run only.
    Unsent,
    /// Rows, or a count of affected rows.
    Answer,
    /// A statement is rejected in one run only, or for another reason.
    Refusal,
    /// The tables at the end, after the same answers.
    FinalState,
}

impl PartingKind {
    /// As shapes of differences begin.
    fn slug(self) -> &'static str {
        match self {
            Self::SetUp => "set-up",
            Self::Waits => "waits",
            Self::Unsent => "unsent",
            Self::Answer => "answer",
            Self::Refusal => "refusal",
            Self::FinalState => "final-state",
        }
    }
}

/// Where two runs of a case part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parting {
    pub kind: PartingKind,
    /// None where it is no statement: the set-up, the final state.
    pub statement: Option<StatementId>,
    /// What the first run did there, for people.
    pub first: String,
    /// What the second did.
    pub second: String,
}

/// What comparing two runs on two servers comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RunComparison {
    Same,
    /// Where they part a deadlock had another victim, one refuses what does not serialize and need not have,
    /// or statements that one release woke were answered in another order before: each engine may, and
    /// what comes after it says nothing.
    Incomparable,
    Parted(Parting),
}

/// What comparing a case on both servers came to.
pub(super) enum Compared {
    Alike,
    /// The runs of one server part already, or a deadlock had another victim.
    NotComparable,
    /// What the case comes to now.
    Differs {
        shape: String,
        verdict: Verdict,
    },
}

/// In which respects two engines may answer a case differently and both be right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Freedom {
    /// They count affected rows differently.
    pub counts: bool,
    /// Sessions at a level that may refuse a statement as not serializable without need.
    pub refusals: BTreeSet<SessionId>,
}

/// Compares what each statement did, in the order of sending, up to the first difference; then the final
/// states. Error classes are compared, not codes.
pub(super) fn compare(
    case: &TestCase,
    first: &Execution,
    second: &Execution,
    freedom: &Freedom,
) -> RunComparison {
    for id in first.sending_order() {
        let parted = |kind, first: String, second: String| Parting {
            kind,
            statement: Some(id),
            first,
            second,
        };
        let Some(one) = first.records.get(&id) else {
            continue;
        };
        let Some(two) = second.records.get(&id) else {
            let (one, two) = ("is sent".to_owned(), "is not sent".to_owned());
            return RunComparison::Parted(parted(PartingKind::Unsent, one, two));
        };
        let (kind, told) = if one.resumed() == two.resumed() {
            let kind = outcomes_part(&one.outcome, &two.outcome, !freedom.counts);
            (
                kind,
                [one, two].map(|record| format!("answers {}", record.outcome)),
            )
        } else {
            let did = |waited| if waited { "waits" } else { "does not wait" }.to_owned();
            (
                Some(PartingKind::Waits),
                [one, two].map(|record| did(record.resumed())),
            )
        };
        let Some(kind) = kind else {
            continue;
        };
        let session = case.statement(id).map(|statement| statement.session);
        let refuses_freely = session.is_some_and(|session| freedom.refusals.contains(&session));
        let is_free = |record: &StatementRecord| match record.outcome.error_class() {
            Some(ErrorClass::Deadlock) => true,
            Some(ErrorClass::Serialization) => refuses_freely,
            Some(_) | None => false,
        };
        if is_free(one) || is_free(two) {
            return RunComparison::Incomparable;
        }
        let until = match kind {
            PartingKind::Waits => EventKind::Sent,
            PartingKind::SetUp
            | PartingKind::Unsent
            | PartingKind::Answer
            | PartingKind::Refusal
            | PartingKind::FinalState => EventKind::Answered,
        };
        if answered_before(first, id, until) != answered_before(second, id, until) {
            return RunComparison::Incomparable;
        }
        let [one, two] = told;
        return RunComparison::Parted(parted(kind, one, two));
    }
    if first.execution_order() != second.execution_order() {
        return match first.final_state == second.final_state {
            true => RunComparison::Same,
            false => RunComparison::Incomparable,
        };
    }
    final_states(first, second)
}

/// The statements that were answered before this event, in their order.
fn answered_before(execution: &Execution, id: StatementId, until: EventKind) -> Vec<StatementId> {
    let events = execution.events.iter();
    let before = events.take_while(|event| (event.statement, event.kind) != (id, until));
    let answers = before.filter(|event| event.kind == EventKind::Answered);
    answers.map(|event| event.statement).collect()
}

fn final_states(first: &Execution, second: &Execution) -> RunComparison {
    let mut tables = first.final_state.iter();
    let Some((table, rows)) =
        tables.find(|(table, rows)| second.final_state.get(*table) != Some(rows))
    else {
        return RunComparison::Same;
    };
    let shown = |rows: Option<&Vec<Row>>| {
        let rows = rows.map_or_else(Vec::new, Clone::clone);
        format!("leaves in {table} {}", Outcome::Rows(rows))
    };
    RunComparison::Parted(Parting {
        kind: PartingKind::FinalState,
        statement: None,
        first: shown(Some(rows)),
        second: shown(second.final_state.get(table)),
    })
}

/// Where two runs of a case on one server differ; none where every outcome and the final state are the
/// same.
pub(super) fn difference(first: &Execution, second: &Execution) -> Option<String> {
    for (id, record) in &first.records {
        match second.records.get(id) {
            None => return Some(format!("{id} was sent in one of two runs only")),
            Some(other) if !same_answer(&record.outcome, &other.outcome) => {
                return Some(format!("{id} came to two outcomes in two runs"));
            }
            Some(_) => {}
        }
    }
    if let Some(id) = second
        .records
        .keys()
        .find(|id| !first.records.contains_key(id))
    {
        return Some(format!("{id} was sent in one of two runs only"));
    }
    (first.final_state != second.final_state).then(|| "the final state differs".to_owned())
}

/// Whether the reads beside the statements of two runs gave the same: what an observer saw of the tables, and what probes
/// answered. An effect that no statement reads shows there alone.
pub(super) fn saw_the_same(first: &Execution, second: &Execution) -> bool {
    let (seen, again) = (&first.observations, &second.observations);
    let observed = seen.len() == again.len()
        && seen.iter().zip(again).all(|(a, b)| {
            let same = |(table, rows): (&String, &Vec<Row>)| {
                b.tables
                    .get(table)
                    .is_some_and(|others| same_rows(rows, others))
            };
            a.active == b.active && a.tables.len() == b.tables.len() && a.tables.iter().all(same)
        });
    let (asked, again) = (&first.probes, &second.probes);
    observed
        && asked.len() == again.len()
        && asked.iter().zip(again).all(|(a, b)| {
            let of_one = (a.statement, &a.sql) == (b.statement, &b.sql);
            of_one && same_answer(&a.outcome, &b.outcome)
        })
}

/// Messages are for people and name ids of connections and transactions: codes and classes are compared.
fn same_answer(a: &Outcome, b: &Outcome) -> bool {
    let code = |outcome: &Outcome| match outcome {
        Outcome::Rejected(error) => Some(error.code.clone()),
        Outcome::Rows(_) | Outcome::Affected(_) => None,
    };
    outcomes_part(a, b, true).is_none() && code(a) == code(b)
}

/// In which respect two outcomes differ: rows as multisets, errors by class.
fn outcomes_part(a: &Outcome, b: &Outcome, counts_alike: bool) -> Option<PartingKind> {
    let is_same = match (a, b) {
        (Outcome::Rows(a), Outcome::Rows(b)) => same_rows(a, b),
        (Outcome::Affected(a), Outcome::Affected(b)) => a == b || !counts_alike,
        (Outcome::Rejected(a), Outcome::Rejected(b)) => a.class == b.class,
        (Outcome::Rejected(_), Outcome::Rows(_) | Outcome::Affected(_))
        | (Outcome::Rows(_) | Outcome::Affected(_), Outcome::Rejected(_))
        | (Outcome::Rows(_), Outcome::Affected(_))
        | (Outcome::Affected(_), Outcome::Rows(_)) => false,
    };
    let rejected = a.error_class().or(b.error_class()).is_some();
    match (is_same, rejected) {
        (true, _) => None,
        (false, true) => Some(PartingKind::Refusal),
        (false, false) => Some(PartingKind::Answer),
    }
}

/// Partings alike: the same kind at the same kind of statement.
pub(super) fn shape_of(parting: &Parting, case: &TestCase) -> String {
    let statement = parting.statement.and_then(|id| case.statement(id));
    let kind = statement.map(|statement| statement.effect.kind.slug());
    kind.map_or_else(
        || parting.kind.slug().to_owned(),
        |kind| format!("{}-{kind}", parting.kind.slug()),
    )
}

/// A difference in one line: `T1.2: mariadb 10.11.19 waits; mariadb 11.8.8 is answered`.
pub(super) fn told(parting: &Parting, here: &Identity, there: &Identity) -> String {
    let place = parting.statement.map(|id| format!("{id}: "));
    format!(
        "{}{} {}; {} {}",
        place.unwrap_or_default(),
        here.in_short(),
        parting.first,
        there.in_short(),
        parting.second
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::{
        Effect, ExecutionEvent, SqlError, StatementKind, Tick, TransactionId, Value,
    };

    fn id(transaction: u32) -> StatementId {
        StatementId {
            transaction: TransactionId(transaction),
            position: 1,
        }
    }

    fn rows(value: i64) -> Outcome {
        Outcome::Rows(vec![vec![Value::Integer(value)]])
    }

    fn refused(class: ErrorClass, code: &str) -> Outcome {
        Outcome::Rejected(SqlError {
            code: code.to_owned(),
            class,
            message: String::new(),
        })
    }

    /// A run of one statement in each transaction, answered in this order: whether it waited, and its
    /// outcome. All are sent before the first is answered, by their numbers.
    fn run(answers: &[(u32, bool, Outcome)]) -> Execution {
        let mut execution = Execution::default();
        let event = |kind, statement| ExecutionEvent {
            tick: Tick(0),
            statement,
            kind,
        };
        let mut sent: Vec<u32> = answers.iter().map(|(number, ..)| *number).collect();
        sent.sort_unstable();
        let sent = sent
            .into_iter()
            .map(|number| event(EventKind::Sent, id(number)));
        execution.events.extend(sent);
        for (number, waited, outcome) in answers {
            execution
                .events
                .push(event(EventKind::Answered, id(*number)));
            let record = StatementRecord {
                id: id(*number),
                sent: Tick(0),
                waiting: waited.then_some(Tick(1)),
                waited_for: Vec::new(),
                answered: Tick(2),
                outcome: outcome.clone(),
                transaction_survives: true,
                counted: None,
                reported: None,
                command_tag: None,
            };
            execution.records.insert(id(*number), record);
        }
        execution
    }

    /// The statements of [`run`]: one autocommit statement in each session.
    fn case() -> TestCase {
        let select = |number| {
            let effect = Effect::of_kind(StatementKind::Select);
            (SessionId(number), "SELECT 1".to_owned(), effect)
        };
        let statements = vec![select(1), select(2)];
        TestCase::new(Vec::new(), Vec::new(), statements, BTreeMap::new(), None)
    }

    fn parting(comparison: RunComparison) -> Option<(PartingKind, Option<StatementId>)> {
        match comparison {
            RunComparison::Parted(parting) => Some((parting.kind, parting.statement)),
            RunComparison::Same | RunComparison::Incomparable => None,
        }
    }

    #[test]
    fn the_first_difference_names_its_statement_and_kind() {
        let first = run(&[(1, false, rows(1)), (2, true, Outcome::Affected(1))]);
        for (second, kind, statement) in [
            (
                run(&[(1, false, rows(2)), (2, false, Outcome::Affected(1))]),
                PartingKind::Answer,
                1,
            ),
            (
                run(&[(1, false, rows(1)), (2, false, Outcome::Affected(1))]),
                PartingKind::Waits,
                2,
            ),
            (
                run(&[
                    (1, false, rows(1)),
                    (2, true, refused(ErrorClass::Duplicate, "1062")),
                ]),
                PartingKind::Refusal,
                2,
            ),
            (run(&[(1, false, rows(1))]), PartingKind::Unsent, 2),
        ] {
            let parted = parting(compare(&case(), &first, &second, &Freedom::default()));
            assert_eq!(parted, Some((kind, Some(id(statement)))));
        }
        assert_eq!(
            compare(&case(), &first, &first, &Freedom::default()),
            RunComparison::Same
        );
    }

    #[test]
    fn classes_are_compared_and_counts_only_where_both_count_alike() {
        let duplicate = |code| run(&[(1, false, refused(ErrorClass::Duplicate, code))]);
        let (mysql, postgres) = (duplicate("1062"), duplicate("23505"));
        assert_eq!(
            compare(&case(), &mysql, &postgres, &Freedom::default()),
            RunComparison::Same
        );
        let count = |rows| run(&[(1, false, Outcome::Affected(rows))]);
        let free = Freedom {
            counts: true,
            ..Freedom::default()
        };
        let compared = |freedom| compare(&case(), &count(1), &count(2), freedom);
        assert_eq!(compared(&free), RunComparison::Same);
        let parted = parting(compared(&Freedom::default()));
        assert_eq!(parted, Some((PartingKind::Answer, Some(id(1)))));
    }

    #[test]
    fn another_victim_or_another_order_of_those_who_were_woken_says_nothing() {
        let victim = || refused(ErrorClass::Deadlock, "1213");
        let first = run(&[(1, true, victim()), (2, true, rows(1))]);
        let second = run(&[(1, true, rows(1)), (2, true, victim())]);
        assert_eq!(
            compare(&case(), &first, &second, &Freedom::default()),
            RunComparison::Incomparable
        );
        let first = run(&[(1, true, rows(1)), (2, true, rows(2))]);
        let second = run(&[(2, true, rows(1)), (1, true, rows(2))]);
        assert_eq!(
            compare(&case(), &first, &second, &Freedom::default()),
            RunComparison::Incomparable
        );
    }

    #[test]
    fn a_refusal_of_what_does_not_serialize_is_compared_where_it_needs_a_cause() {
        let first = run(&[(1, false, refused(ErrorClass::Serialization, "40001"))]);
        let second = run(&[(1, false, rows(1))]);
        let free = Freedom {
            refusals: [SessionId(1)].into(),
            ..Freedom::default()
        };
        let compared = |freedom| compare(&case(), &first, &second, freedom);
        assert_eq!(compared(&free), RunComparison::Incomparable);
        let parted = parting(compared(&Freedom::default()));
        assert_eq!(parted, Some((PartingKind::Refusal, Some(id(1)))));
    }

    #[test]
    fn tables_that_differ_after_the_same_answers_are_told() {
        let mut first = run(&[(1, false, rows(1))]);
        let mut second = first.clone();
        let table = |value| ("t".to_owned(), vec![vec![Value::Integer(value)]]);
        first.final_state = [table(1)].into();
        second.final_state = [table(2)].into();
        let RunComparison::Parted(parted) = compare(&case(), &first, &second, &Freedom::default())
        else {
            panic!("the tables differ");
        };
        assert_eq!(
            (parted.kind, parted.statement),
            (PartingKind::FinalState, None)
        );
        assert_eq!(parted.first, "leaves in t (1)");
        assert_eq!(parted.second, "leaves in t (2)");
    }
}
