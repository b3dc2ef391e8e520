//! What a replay needs, and what it gives.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use super::expectation::UnexpectedRejection;
use crate::engine::Identity;
use crate::model::{
    CaseStatement, Execution, Finding, FindingKind, Setting, StatementId, StatementKind, TestCase,
    UndecidedReason, Verdict,
};
use crate::oracle::Oracle;
use crate::reproducer::{CaseFile, Registry, Reproduced};

/// How long a server that went away is waited for between two runs, before the replay is given up.
pub(super) const SERVER_BACK_WITHIN: Duration = Duration::from_secs(30);

/// What a replay needs beside the file and the server.
#[derive(Clone, Copy)]
pub struct ReplayOptions<'a> {
    /// The oracles to ask; those that do not apply to the case say nothing.
    pub oracles: &'a [&'a dyn Oracle],
    pub registry: &'a Registry,
    /// How often the case is run; at least once.
    pub times: u32,
    /// Stop at the first run that shows a violation or something known.
    pub stop_at_first_hit: bool,
}

/// What one oracle, or the file's expectations, said over all runs.
#[derive(Clone, Debug)]
pub struct VoiceReport {
    /// The oracle's name; [`EXPECTATION`](super::EXPECTATION) for the file's own.
    pub name: String,
    /// Runs in which it saw a violation.
    pub violations: u32,
    /// Runs in which what it saw is known.
    pub known: u32,
    /// Runs in which it agreed.
    pub agreed: u32,
    /// Runs in which it could say nothing.
    pub undecided: u32,
    /// Why it said nothing at all, when it does not apply.
    pub inapplicable: Option<String>,
    /// The worst it said; none when it does not apply.
    pub worst: Option<Verdict>,
}

impl VoiceReport {
    /// Why it said nothing, or could decide nothing.
    pub(super) fn reason(&self) -> Option<&str> {
        match (&self.inapplicable, &self.worst) {
            (Some(reason), _) => Some(reason),
            (None, Some(Verdict::Undecided(reason))) => Some(reason.slug()),
            (None, _) => None,
        }
    }
}

/// A statement that keeps oracles from judging the case.
#[derive(Clone, Copy, Debug)]
pub struct UnjudgedStatement<'a> {
    statement: &'a CaseStatement,
    reason: UndecidedReason,
}

impl UnjudgedStatement<'_> {
    /// The statement's place in the case.
    pub fn statement(&self) -> StatementId {
        self.statement.id
    }
}

impl fmt::Display for UnjudgedStatement<'_> {
    /// `T5.3 (TRUNCATE t), opaque-statement: It is not known what ..`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { statement, reason } = self;
        let (id, sql) = (statement.id, statement.sql.trim());
        write!(f, "{id} ({sql}), {reason}: {}", reason.about())
    }
}

/// For which reasons a statement by itself keeps a case from being judged, the most telling first.
fn reasons_of(statement: &CaseStatement) -> impl Iterator<Item = UndecidedReason> {
    let effect = &statement.effect;
    let setting = match effect.setting {
        Some(Setting::Level) => Some(UndecidedReason::LevelSetInSession),
        Some(Setting::Other) => Some(UndecidedReason::SessionSetting),
        Some(Setting::SameLevel | Setting::LockTimeout | Setting::Plan | Setting::Mode) | None => {
            None
        }
    };
    let unrepeatable = effect.unrepeatable;
    let is_opaque = effect.kind == StatementKind::Opaque;
    let of_opaque = [
        UndecidedReason::TableNotRead,
        UndecidedReason::OpaqueStatement,
    ];
    setting
        .into_iter()
        .chain(unrepeatable.then_some(UndecidedReason::UnrepeatableFunction))
        .chain(of_opaque.into_iter().filter(move |_| is_opaque))
}

/// The result of a replay: verdict, counts, and the evidence to show.
#[derive(Clone, Debug)]
pub struct ReplayReport {
    /// The file, as it was named.
    pub file: String,
    pub verdict: Verdict,
    /// The oracle behind the verdict, and the kind of the finding, when there is one.
    pub oracle: Option<String>,
    pub kind: Option<String>,
    /// Runs that showed the verdict's violation or known behaviour; for the other verdicts, none.
    pub hits: u32,
    pub runs: u32,
    /// Runs in which nothing could be decided.
    pub undecided_runs: u32,
    /// Why the case could not be run at all on this server: not the same as not reproduced.
    pub could_not_run: Option<String>,
    /// An entry of the registry explains the finding, and this server claims the fix.
    pub regression_of: Option<String>,
    pub voices: Vec<VoiceReport>,
    /// Statements that were rejected in the first run with such a rejection, though the file
    /// mentions none: the verdict is never `agree` then.
    pub rejections: Vec<UnexpectedRejection>,
    /// The finding of the first run that showed one, known or not.
    pub finding: Option<Finding>,
    /// The case and the run to show: the first that hit, else the first.
    pub shown: Option<(TestCase, Execution)>,
}

impl ReplayReport {
    /// The identifier of what explains the verdict, when it is known.
    pub fn known_id(&self) -> Option<&str> {
        match &self.verdict {
            Verdict::Known(id) => Some(id),
            Verdict::Agree
            | Verdict::Undecided(_)
            | Verdict::Flaky { .. }
            | Verdict::Violation(_) => None,
        }
    }

    /// The file with what the shown run answered, and what the finding expects; none where no run came to its end.
    pub fn answered(&self, file: &CaseFile, server: &Identity) -> Option<CaseFile> {
        let (case, execution) = self.shown.as_ref()?;
        let reproduced = Reproduced {
            hits: self.hits,
            runs: self.runs,
        };
        let Some(finding) = &self.finding else {
            return Some(file.answered_by(CaseFile::of_run(case, execution, server)));
        };
        let mut ran = CaseFile::of_finding(case, finding, execution, server, "", reproduced);
        if finding.signature.kind == FindingKind::UnexpectedOutcome {
            // It stands on the line that expects it, and lines have other numbers here.
            ran.header.comments.last.clear();
        }
        Some(file.answered_by(ran))
    }

    /// The statements for which an oracle does not apply to the case or could not decide it, where those can be named.
    pub fn obstacles(&self) -> Vec<UnjudgedStatement<'_>> {
        let given: BTreeSet<&str> = self.voices.iter().filter_map(VoiceReport::reason).collect();
        let shown = self.shown.iter();
        let statements = shown.flat_map(|(case, _)| case.statements.iter());
        let obstacle = |statement| {
            let mut reasons = reasons_of(statement);
            let reason = reasons.find(|reason| given.contains(reason.slug()))?;
            Some(UnjudgedStatement { statement, reason })
        };
        statements.filter_map(obstacle).collect()
    }

    pub(super) fn could_not_run(file: &str, reason: String) -> Self {
        Self {
            file: file.to_owned(),
            verdict: Verdict::Undecided(UndecidedReason::CouldNotRun),
            oracle: None,
            kind: None,
            hits: 0,
            runs: 0,
            undecided_runs: 0,
            could_not_run: Some(reason),
            regression_of: None,
            voices: Vec::new(),
            rejections: Vec::new(),
            finding: None,
            shown: None,
        }
    }

    /// The same report, in which a case that did not run as it was meant is undecided: oracles agree
    /// about a misspelt statement, for it is rejected in every order.
    pub(super) fn without_unearned_agreement(mut self) -> Self {
        if self.verdict == Verdict::Agree && !self.rejections.is_empty() {
            self.verdict = Verdict::Undecided(UndecidedReason::UnexpectedRejection);
        }
        self
    }
}
