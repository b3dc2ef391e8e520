//! From a broken promise about locks to a finding.

use std::collections::BTreeSet;

use crate::model::{
    Aspect, Difference, Direction, Finding, FindingKind, LockBreach, RESUMED, Signature,
    StatementId, StatementRecord,
};
use crate::oracle::Evidence;
use crate::oracle::signature::{finding_levels, form_features, settings_before};

/// What is expected of a statement that nobody keeps waiting.
pub(super) const AT_ONCE: &str = "an answer at once";

/// One promise about locks that the run broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BrokenLock {
    pub(super) kind: LockBreach,
    /// Who should have waited, or was refused or left rows out.
    pub(super) statement: StatementId,
    /// Whose locks it should have met.
    pub(super) against: Option<StatementId>,
    /// The results that it tells apart differ in blanks at the end of texts alone.
    pub(super) padded: bool,
    pub(super) expected: String,
    pub(super) got: String,
    /// What shows it, for people.
    pub(super) told: String,
}

impl BrokenLock {
    /// A statement that was answered after a wait which should not have been.
    pub(super) fn needless_wait(
        kind: LockBreach,
        waiter: &StatementRecord,
        expected: &str,
        told: String,
    ) -> Self {
        Self {
            kind,
            statement: waiter.id,
            against: None,
            padded: false,
            expected: expected.to_owned(),
            got: format!("{}, after a wait", waiter.outcome),
            told,
        }
    }

    /// A statement that should have waited for the transaction of this holder.
    pub(super) fn without_waiting(
        kind: LockBreach,
        waiter: &StatementRecord,
        holder: StatementId,
        told: String,
    ) -> Self {
        Self {
            kind,
            statement: waiter.id,
            against: Some(holder),
            padded: false,
            expected: format!("waits for {}", holder.transaction),
            got: waiter.outcome.to_string(),
            told,
        }
    }
}

/// The finding about a run, told by its first breach.
pub(super) fn finding(evidence: &Evidence, first: &BrokenLock, all: &[BrokenLock]) -> Finding {
    let case = &evidence.case;
    let kind_of = |id: StatementId| {
        let statement = case.statement(id);
        statement.map_or("a statement", |s| s.effect.kind.slug())
    };
    let level = case.statement(first.statement).map(|s| {
        let (run, judged) = (case.level(s.session), case.judged_level(s.session));
        match run == judged {
            true => run.to_string(),
            false => format!("{run} claimed {judged}"),
        }
    });
    let headline = format!(
        "{} ({}) at {}: {}: {}",
        first.statement,
        kind_of(first.statement),
        level.unwrap_or_default(),
        words(first.kind),
        first.told
    );
    let difference = |breach: &BrokenLock| Difference {
        statement: Some(breach.statement),
        aspect: Aspect::Waiting,
        direction: Direction::Other,
        expected: breach.expected.clone(),
        got: breach.got.clone(),
    };
    let told = |breach: &BrokenLock| {
        let (at, what) = (breach.statement, words(breach.kind));
        format!("{at}: {what}: {}", breach.told)
    };
    // The headline tells the first.
    let others = all.iter().filter(|breach| !std::ptr::eq(*breach, first));
    Finding {
        signature: Signature::new(
            "locks",
            FindingKind::Lock(first.kind),
            finding_levels(case),
            features(evidence, first),
        ),
        headline,
        differences: all.iter().map(difference).collect(),
        explanation: others.map(told).collect(),
    }
}

fn words(kind: LockBreach) -> &'static str {
    match kind {
        LockBreach::UnlockedWrite => "it should have waited before it wrote",
        LockBreach::UnlockedRead => "it should have waited before it read",
        LockBreach::UnkeptRow => "it should have waited for a row that was locked",
        LockBreach::UnkeptRange => "it should have waited for a range that was locked",
        LockBreach::UnkeptTable => "it should have waited for a table that was locked",
        LockBreach::UnfoundedRefusal => "it was refused though nobody can have held a lock",
        LockBreach::WrongSkip => "it left out other rows than those that were locked",
        LockBreach::Waited | LockBreach::KeptPastEnd => "it should not have waited",
        LockBreach::UnrefusedNewerRow => {
            "it should have been refused for a row that is newer than its snapshot"
        }
    }
}

/// The kinds of both statements and the form of both: either may have taken too few locks.
fn features(evidence: &Evidence, breach: &BrokenLock) -> Vec<String> {
    let case = &evidence.case;
    let mut features = BTreeSet::new();
    if let Some(statement) = case.statement(breach.statement) {
        features.extend(form_features(evidence, statement));
        features.extend(settings_before(evidence, statement));
    }
    if let Some(against) = breach.against.and_then(|id| case.statement(id)) {
        let forms = form_features(evidence, against);
        features.extend(forms.iter().map(|form| format!("against:{form}")));
    }
    if breach.padded {
        features.insert(format!("differs:{}", Direction::Padded));
    }
    let record = evidence.execution.records.get(&breach.statement);
    if record.is_some_and(|record| record.resumed()) {
        features.insert(RESUMED.to_owned());
    }
    features.into_iter().collect()
}
