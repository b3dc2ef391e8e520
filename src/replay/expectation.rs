//! What the file itself expects: `-- @expect`, and the `/* end */` statements.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::engine::EngineError;
use crate::execute::{Executor, Instrumentation};
use crate::model::{
    Aspect, CaseStatement, Difference, Direction, ErrorClass, Execution, Finding, FindingKind,
    Outcome, Pace, SessionId, Signature, SqlError, StatementId, StatementRecord, TestCase,
    UndecidedReason, Verdict,
};
use crate::reproducer::{CaseFile, CaseLine, Expectation, Note, Tag};
use crate::statement;

/// The name under which the file's own expectations are reported, and the oracle of the findings
/// they make.
pub const EXPECTATION: &str = "expectation";

/// A statement that the engine rejected, where the file neither expects nor observed a rejection of
/// this class: the case did not run as it was meant, so no verdict about it is a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnexpectedRejection {
    /// Line of the statement in the file, from 1.
    pub line: usize,
    pub statement: StatementId,
    pub sql: String,
    pub error: SqlError,
}

impl fmt::Display for UnexpectedRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SqlError {
            code,
            class,
            message,
        } = &self.error;
        write!(
            f,
            "line {}, {} ({}) was rejected: {message} (error {code}); if the case is about this \
             rejection, write `-- @expect error {class}` behind the statement, otherwise correct it",
            self.line, self.statement, self.sql
        )
    }
}

/// What the file's expectations say of one run.
pub(super) struct Checked {
    /// None when nothing is expected and no statement was rejected unexpectedly.
    pub(super) verdict: Option<Verdict>,
    /// Rejections that the file says nothing about, in submitted order.
    pub(super) rejections: Vec<UnexpectedRejection>,
    /// What is not as expected is as the file says it was observed: what the header's `known`
    /// explains. Anything else it does not explain.
    pub(super) as_observed: bool,
    /// The case as it was run, `/* end */` statements included.
    pub(super) case: TestCase,
    pub(super) execution: Execution,
}

/// Runs the case with its `/* end */` statements behind everything, in a session of their own, and
/// compares what came with what is expected.
pub(super) fn check(
    file: &CaseFile,
    case: &TestCase,
    executor: &mut dyn Executor,
) -> Result<Checked, EngineError> {
    let whole = with_end(file, case, executor);
    let execution = executor.execute(&whole, &Instrumentation::default())?;
    let lines = judged_lines(file, case, &whole);
    let rejections = unexpected_rejections(&lines, &execution);
    let (verdict, as_observed) = judge(&lines, &whole, &execution);
    let is_another_case = match &verdict {
        None | Some(Verdict::Agree) => !rejections.is_empty(),
        Some(Verdict::Violation(finding)) => {
            let unmet = finding.differences.first();
            let unmet = unmet.and_then(|difference| difference.statement);
            lacks_a_statement_up_to(unmet, &lines, &rejections)
        }
        Some(Verdict::Known(_) | Verdict::Undecided(_) | Verdict::Flaky { .. }) => false,
    };
    let verdict = match is_another_case {
        true => Some(Verdict::Undecided(UndecidedReason::UnexpectedRejection)),
        false => verdict,
    };
    Ok(Checked {
        verdict,
        rejections,
        as_observed,
        case: whole,
        execution,
    })
}

/// The case, what is still open rolled back, and the `/* end */` statements. At the free pace these are
/// left out, for nothing would keep them behind the sessions.
fn with_end(file: &CaseFile, case: &TestCase, executor: &dyn Executor) -> TestCase {
    let end: Vec<&CaseLine> = file.tagged(Tag::End).collect();
    if end.is_empty() || case.pace == Pace::Free {
        return case.clone();
    }
    let dialect = executor.dialect();
    let mut lines: Vec<_> = case
        .statements
        .iter()
        .map(|s| (s.session, s.sql.clone(), s.effect.clone()))
        .collect();
    let mut last: BTreeMap<SessionId, &CaseStatement> = BTreeMap::new();
    for statement in &case.statements {
        last.insert(statement.session, statement);
    }
    let rollback = &dialect.spelling.rollback;
    for (session, statement) in last {
        let open = case.is_explicit(statement.id.transaction) && !statement.effect.is_last_end();
        if open {
            lines.push((
                session,
                rollback.clone(),
                statement::analyze(rollback, dialect),
            ));
        }
    }
    let own = case.sessions().last().map_or(1, |session| session.0 + 1);
    let own = SessionId(own);
    for line in end {
        lines.push((
            own,
            line.sql.clone(),
            statement::analyze(&line.sql, dialect),
        ));
    }
    let mut isolation = case.isolation.clone();
    if let Some(level) = case.isolation.values().min().copied() {
        isolation.insert(own, level);
    }
    TestCase::new(
        case.setup.clone(),
        case.tables.clone(),
        lines,
        isolation,
        case.claim,
    )
    .at_pace(case.pace)
}

/// The statements of the case that stand for lines of the file, with those lines.
fn judged_lines<'a>(
    file: &'a CaseFile,
    case: &TestCase,
    whole: &'a TestCase,
) -> Vec<(&'a CaseLine, &'a CaseStatement)> {
    let end_count = match case.pace {
        Pace::Scheduled => file.tagged(Tag::End).count(),
        Pace::Free => 0,
    };
    let sessions = file
        .lines
        .iter()
        .filter(|line| matches!(line.tag, Tag::Session(_)));
    let own = whole.statements.iter().take(case.statements.len());
    let at_end = whole
        .statements
        .iter()
        .skip(whole.statements.len() - end_count);
    sessions
        .zip(own)
        .chain(file.tagged(Tag::End).zip(at_end))
        .collect()
}

/// The rejections of a class that the file neither expects nor observed at that statement.
fn unexpected_rejections(
    lines: &[(&CaseLine, &CaseStatement)],
    execution: &Execution,
) -> Vec<UnexpectedRejection> {
    let unexpected = |(line, statement): &(&CaseLine, &CaseStatement)| {
        let record = execution.records.get(&statement.id)?;
        let Outcome::Rejected(error) = &record.outcome else {
            return None;
        };
        let this = Expectation::Error(error.class);
        let mentioned = line.expectations().contains(&this) || line.observations().contains(&this);
        (!mentioned).then(|| UnexpectedRejection {
            line: line.line,
            statement: statement.id,
            sql: statement.sql.clone(),
            error: error.clone(),
        })
    };
    lines.iter().filter_map(unexpected).collect()
}

/// Whether the engine has no such statement as the one with the first unmet expectation, or one before it: without it,
/// another case ran than the one whose answers the file expects.
fn lacks_a_statement_up_to(
    unmet: Option<StatementId>,
    lines: &[(&CaseLine, &CaseStatement)],
    rejections: &[UnexpectedRejection],
) -> bool {
    let at = lines
        .iter()
        .find(|(_, statement)| Some(statement.id) == unmet)
        .map(|(line, _)| line.line);
    rejections.iter().any(|rejection| {
        let is_lacking = matches!(
            rejection.error.class,
            ErrorClass::Unsupported | ErrorClass::Syntax
        );
        is_lacking && at.is_some_and(|at| rejection.line <= at)
    })
}

/// The verdict, and whether what is not as expected was observed before.
fn judge(
    lines: &[(&CaseLine, &CaseStatement)],
    whole: &TestCase,
    execution: &Execution,
) -> (Option<Verdict>, bool) {
    if lines.iter().all(|(line, _)| line.expectations().is_empty()) {
        return (None, false);
    }
    // Answers were given before the tables were to be read.
    let unreliable = execution.unreliable;
    if let Some(reason) = unreliable.filter(|reason| *reason != UndecidedReason::TableNotRead) {
        return (Some(Verdict::Undecided(reason)), false);
    }
    let mut differences = Vec::new();
    let mut first = None;
    let mut as_observed = true;
    let mut not_sent = false;
    // Transactions that ended by a rejection the file expects: what they leave out is no gap.
    let mut rightly_gone = BTreeSet::new();
    for (line, statement) in lines {
        let expectations = line.expectations();
        let Some(record) = execution.records.get(&statement.id) else {
            not_sent |=
                !expectations.is_empty() && !rightly_gone.contains(&statement.id.transaction);
            continue;
        };
        if expectations.is_empty() {
            continue;
        }
        if let Some(difference) = unmet(&expectations, statement, record) {
            first.get_or_insert((*line, *statement));
            differences.push(difference);
            let observed = line.observations();
            let same = |seen: &Expectation| seen.meets(&record.outcome, record.resumed());
            as_observed &= observed.is_empty() || observed.iter().any(same);
        } else if !record.transaction_survives && record.outcome.error_class().is_some() {
            rightly_gone.insert(statement.id.transaction);
        }
    }
    let verdict = match (first, not_sent) {
        (None, false) => Verdict::Agree,
        (None, true) => Verdict::Undecided(UndecidedReason::StatementNotSent),
        (Some((line, statement)), _) => {
            Verdict::Violation(Box::new(finding(whole, line, statement, differences)))
        }
    };
    (Some(verdict), as_observed)
}

/// What is not as expected: expectations of the answer are alternatives, those of waiting are not.
fn unmet(
    expectations: &[Expectation],
    statement: &CaseStatement,
    record: &StatementRecord,
) -> Option<Difference> {
    let waited = record.resumed();
    let meets = |expectation: &&Expectation| expectation.meets(&record.outcome, waited);
    let (waits, answers): (Vec<&Expectation>, Vec<&Expectation>) = expectations
        .iter()
        .partition(|expectation| expectation.is_about_waiting());
    let texts = |all: &[&Expectation]| {
        let texts: Vec<String> = all.iter().map(ToString::to_string).collect();
        texts.join(" or ")
    };
    let (aspect, expected, got) = if !answers.is_empty() && !answers.iter().any(meets) {
        let aspect = match &record.outcome {
            Outcome::Rows(_) => Aspect::Rows,
            Outcome::Affected(_) => Aspect::Affected,
            Outcome::Rejected(_) => Aspect::Error,
        };
        let got = Note::outcome(&record.outcome).text;
        let error = record.outcome.error_class().map_or("", |_| "error ");
        (aspect, texts(&answers), format!("{error}{got}"))
    } else if !waits.iter().all(meets) {
        let got = if waited { "waits" } else { "no wait" };
        (Aspect::Waiting, texts(&waits), got.to_owned())
    } else {
        return None;
    };
    Some(Difference {
        statement: Some(statement.id),
        aspect,
        direction: Direction::Other,
        expected,
        got,
    })
}

fn finding(
    case: &TestCase,
    line: &CaseLine,
    statement: &CaseStatement,
    differences: Vec<Difference>,
) -> Finding {
    let levels: BTreeSet<String> = case.isolation.values().map(ToString::to_string).collect();
    let told = differences.first().map_or(String::new(), |difference| {
        format!("expected {}, got {}", difference.expected, difference.got)
    });
    Finding {
        signature: Signature::new(
            EXPECTATION,
            FindingKind::UnexpectedOutcome,
            levels.into_iter().collect(),
            vec![
                statement.effect.kind.slug().to_owned(),
                differences
                    .first()
                    .map_or(String::new(), |difference| difference.aspect.to_string()),
            ],
        ),
        headline: format!("line {}, {}: {told}", line.line, line.sql),
        differences,
        explanation: vec!["the file itself expects it, in its @expect notes".to_owned()],
    }
}
