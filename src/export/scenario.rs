//! A case as somebody runs it by hand: clients that execute statements one after another, with the
//! answers that were seen and those that are right.

use std::collections::{BTreeMap, BTreeSet};

use super::case_format::DoesNotApply;
use super::client_step::ClientStep;
use super::ended::EndedTransactions;
use super::headline::{self, kind_of};
use super::held_back::in_order_of_a_run;
use super::maintainers::{self, Maintainers};
use crate::dialect::{BUILTIN, Dialect, ServerVersion, builtin, parse};
use crate::model::{
    Effect, ErrorClass, FindingKind, IsolationLevel, Pace, SessionId, StatementId, StatementKind,
    TestCase,
};
use crate::reproducer::{CaseFile, CaseLine, Expectation, Tag};
use crate::statement::{self, PreparedStatements};

/// How somebody who runs the scenario sees that the bug is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symptom {
    /// An answer is none of those that are right.
    WrongAnswer,
    /// No answer is wrong alone: they are wrong together, so all of them must be those that were seen.
    AsSeen,
    /// The server closes a connection.
    Crash,
    /// A statement is never answered.
    Hang,
    /// The file names no fault: all answers are right.
    NothingWrong,
}

/// A case as somebody runs it by hand.
#[derive(Debug)]
pub(super) struct Scenario<'a, M = &'static Maintainers> {
    pub(super) file: &'a CaseFile,
    /// Who reads the export; `()` where that does not matter.
    pub(super) maintainers: M,
    pub(super) dialect: Dialect,
    pub(super) case: TestCase,
    /// What each client executes first, by its number.
    pub(super) clients: BTreeMap<u32, Vec<String>>,
    /// In the order in which they are sent. A statement of a client that waits is sent when the client
    /// goes on.
    pub(super) steps: Vec<ClientStep>,
    /// Reads after the last client has ended.
    pub(super) afterwards: Vec<ClientStep>,
    pub(super) symptom: Symptom,
}

impl<'a> Scenario<'a> {
    /// The scenario of a case.
    ///
    /// # Errors
    /// When the case names no engine or one that has no maintainers here, cannot run on it, runs in no
    /// schedule, or when none of its answers shows what is wrong.
    pub(super) fn of(file: &'a CaseFile) -> Result<Self, DoesNotApply> {
        let maintainers = maintainers_of(file)?;
        Self::told(file, dialect_of(maintainers.engine)?, maintainers)
    }

    /// The scenario of a case with a fault.
    ///
    /// # Errors
    /// As [`Scenario::of`], and when all answers of the file are right.
    pub(super) fn of_fault(file: &'a CaseFile) -> Result<Self, DoesNotApply> {
        let scenario = Self::of(file)?;
        match scenario.symptom {
            Symptom::NothingWrong => Err(DoesNotApply(
                "the file says nowhere what is wrong: give the statement that is answered wrongly an \
                 `-- @expect` note with the right answer"
                    .to_owned(),
            )),
            Symptom::WrongAnswer | Symptom::AsSeen | Symptom::Crash | Symptom::Hang => Ok(scenario),
        }
    }
}

impl Scenario<'_> {
    /// Whether the level that a client is judged by may refuse what takes a lock on a row that changed after its
    /// snapshot, where the level of the run does not.
    pub(super) fn refuses_newer_rows(&self, client: u32) -> bool {
        let judged = self.case.judged_level(SessionId(client));
        self.maintainers.refuses_newer_rows
            && self.claims_more(client)
            && judged >= IsolationLevel::RepeatableRead
    }
}

impl<'a> Scenario<'a, ()> {
    /// The scenario of a case on any engine that there is a dialect of.
    ///
    /// # Errors
    /// As [`Scenario::of`].
    pub(super) fn of_any_engine(file: &'a CaseFile) -> Result<Self, DoesNotApply> {
        Self::told(file, own_dialect(file)?, ())
    }
}

impl<'a, M> Scenario<'a, M> {
    /// Whether a client is judged by a stronger level than it runs at.
    pub(super) fn claims_more(&self, client: u32) -> bool {
        let session = SessionId(client);
        self.case.judged_level(session) > self.case.level(session)
    }

    fn told(file: &'a CaseFile, dialect: Dialect, maintainers: M) -> Result<Self, DoesNotApply> {
        if kind_of(file).is_some_and(takes_a_crash) {
            return Err(DoesNotApply(AFTER_A_CRASH.to_owned()));
        }
        if file.header.pace == Pace::Free {
            return Err(DoesNotApply(
                "the sessions of this case run at the free pace, in no order that could be told; \
                 a run with --oracle history puts such a case into a schedule where it can"
                    .to_owned(),
            ));
        }
        let case = told_case(file, &dialect)?;
        let mut clients = BTreeMap::new();
        for (session, level) in &case.isolation {
            let given = file.session_setup(*session).map(<[String]>::to_vec);
            let setup = given.unwrap_or_else(|| {
                let mut statements = dialect.session_setup.clone();
                statements.extend(dialect.set_isolation(*level));
                statements
            });
            clients.insert(session.0, setup);
        }
        let steps = in_order_of_a_run(steps(file, &case, &dialect), &dialect);
        let afterwards: Vec<ClientStep> = file
            .tagged(Tag::End)
            .map(|line| step(line, None, None, statement::analyze(&line.sql, &dialect)))
            .collect();
        let symptom = symptom(file, steps.iter().chain(&afterwards))?;
        Ok(Self {
            file,
            maintainers,
            dialect,
            case,
            clients,
            steps,
            afterwards,
            symptom,
        })
    }

    /// The views that the set-up makes, quoted, in an order in which they can be dropped: the last one first.
    pub(super) fn views(&self) -> Vec<String> {
        let names = statement::Catalog::of(&self.case.setup, &self.dialect).view_names;
        let names = names.iter().rev();
        names.map(|name| self.dialect.quote(name)).collect()
    }

    /// The tables, as [`views`](Self::views): one that another refers to goes after it.
    pub(super) fn tables(&self) -> Vec<String> {
        let tables = self.case.tables.iter().rev();
        tables
            .map(|table| self.dialect.quote(&table.name))
            .collect()
    }

    /// The statements that make the tables.
    pub(super) fn setup(&self) -> impl Iterator<Item = &str> {
        self.case.setup.iter().map(|setup| setup.sql.as_str())
    }

    /// Every statement of the scenario.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let steps = self.steps.iter().chain(&self.afterwards);
        steps.map(|step| step.sql.as_str()).chain(self.setup())
    }

    /// The steps whose answer is wrong, then the reads at the end that are.
    pub(super) fn disputed(&self) -> impl Iterator<Item = &ClientStep> {
        let all = self.steps.iter().chain(&self.afterwards);
        all.filter(|step| step.is_disputed())
    }

    /// The statement that has no answer, or at which the server was lost; none where the file does not tell.
    pub(super) fn without_answer(&self) -> Option<&ClientStep> {
        let mut steps = self.steps.iter();
        match self.symptom {
            Symptom::Hang | Symptom::Crash => steps.find(|step| step.outcome.is_some()),
            Symptom::WrongAnswer | Symptom::AsSeen | Symptom::NothingWrong => None,
        }
    }

    /// The versions that showed it, with commas between; empty where the file names none. What stands
    /// in a header came from anywhere: it stays on one line.
    pub(super) fn versions(&self) -> String {
        let seen_on = self.file.header.seen_on.iter();
        seen_on.map(|v| one_line(v)).collect::<Vec<_>>().join(", ")
    }

    /// The level of a client.
    pub(super) fn level(&self, client: u32) -> Option<IsolationLevel> {
        self.case.isolation.get(&SessionId(client)).copied()
    }

    /// The level that all clients run at, or the levels of each.
    pub(super) fn levels_text(&self) -> String {
        let mut levels: Vec<IsolationLevel> = self.case.isolation.values().copied().collect();
        levels.dedup();
        match levels.as_slice() {
            [level] => level.to_string(),
            _ => {
                let each = self.case.isolation.iter();
                let each = each.map(|(session, level)| format!("{level} (client {})", session.0));
                each.collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// How often the case is to be run so that a bug that comes in a share of the runs shows with a
    /// probability of 99 %.
    pub(super) fn runs(&self) -> u32 {
        const RUNS_MAX: f64 = 1000.0;
        let rate = self.file.header.reproduced.map_or(1.0, |r| r.rate());
        if rate >= 1.0 || rate <= 0.0 {
            return 1;
        }
        let runs = (0.01_f64.ln() / (-rate).ln_1p()).ceil();
        // Whole and in range: both bounds are.
        runs.clamp(1.0, RUNS_MAX) as u32
    }
}

/// The case of a file. What the sessions executed is told, not run: it may be another list than today's.
///
/// # Errors
/// When it cannot run on the dialect.
pub(super) fn told_case(file: &CaseFile, dialect: &Dialect) -> Result<TestCase, DoesNotApply> {
    let mut told = file.clone();
    told.header.session_setup = None;
    let case = told.test_case(dialect);
    case.map_err(|error| DoesNotApply(error.to_string()))
}

/// A text of the header without line breaks and other control characters.
pub(super) fn one_line(text: &str) -> String {
    let blank = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(blank).collect()
}

fn maintainers_of(file: &CaseFile) -> Result<&'static Maintainers, DoesNotApply> {
    let engines = maintainers::engines();
    let Some(engine) = &file.header.engine else {
        return Err(DoesNotApply(format!(
            "the header does not say which engine the case is about: add `--! engine = \"..\"`, one \
             of {engines}"
        )));
    };
    maintainers::of_engine(engine).ok_or_else(|| {
        DoesNotApply(format!(
            "the case is about {engine}; exports for maintainers exist for {engines}"
        ))
    })
}

/// The dialect of the engine that a file names.
///
/// # Errors
/// When it names none, or one that there is no dialect of.
pub(super) fn own_dialect(file: &CaseFile) -> Result<Dialect, DoesNotApply> {
    let engine = file.header.engine.as_deref();
    let names = BUILTIN.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    dialect_of(engine.ok_or_else(|| {
        DoesNotApply(format!(
            "the header does not say which engine the case is about: add `--! engine = \"..\"`, one \
             of {}",
            names.join(", ")
        ))
    })?)
}

/// What is right of the statement that a finding is about, where its kind says so and no note of the file.
pub(crate) fn right_by_kind(file: &CaseFile) -> Option<(StatementId, Expectation)> {
    let engine = file.header.engine.as_deref()?;
    headline::right_by_kind(file, &dialect_of(engine).ok()?)
}

/// The dialect of an engine's newest version.
fn dialect_of(engine: &str) -> Result<Dialect, DoesNotApply> {
    let newest = ServerVersion(vec![u32::MAX]);
    let text =
        builtin(engine).ok_or_else(|| DoesNotApply(format!("there is no dialect of {engine}")))?;
    parse(engine, text, &newest).map_err(|error| DoesNotApply(error.to_string()))
}

/// The statements of the sessions, each with the reads that its transaction takes its snapshot by.
fn steps(file: &CaseFile, case: &TestCase, dialect: &Dialect) -> Vec<ClientStep> {
    let is_of_session = |line: &&CaseLine| matches!(line.tag, Tag::Session(_));
    let lines = file.lines.iter().filter(is_of_session);
    let mut steps = Vec::new();
    let mut locked = LockedTables::default();
    let mut prepared: BTreeMap<SessionId, PreparedStatements> = BTreeMap::new();
    let subject = headline::statement(file);
    let mut ended = EndedTransactions::default();
    for (line, statement) in lines.zip(&case.statements) {
        let client = Some(statement.session.0);
        if ended.never_sent(line, statement) {
            continue;
        }
        let reads = line
            .notes
            .iter()
            .filter(|note| note.name == "snapshot-read");
        for read in reads {
            let effect = statement::analyze(&read.text, dialect);
            steps.push(ClientStep::unjudged(client, read.text.clone(), effect));
        }
        let mut step = step(line, client, Some(statement.id), statement.effect.clone());
        if subject == Some(statement.id) {
            step.outcome = headline::outcome(file);
            if step.right.is_empty() {
                step.right
                    .extend(headline::right(file, step.seen.as_ref(), &step.effect));
            }
        }
        if step.is_disputed() {
            let is_locked = locked.meet(&step);
            if step.effect.nowait {
                add_refusal(&mut step, is_locked);
            } else {
                let kind = step.effect.kind;
                let locks = kind.is_write() || kind == StatementKind::LockingSelect;
                let is_about_waiting = step.right.iter().any(Expectation::is_about_waiting);
                step.may_wait = locks && is_locked && !step.waits && !is_about_waiting;
            }
        }
        locked.after(&step);
        ended.after(&step, dialect);
        let own = prepared.entry(statement.session).or_default();
        // What names an object that is missing is refused when it is prepared, not when it is executed.
        let mut answers = step.seen.iter().chain(&step.right);
        let is_refused_early = answers.any(|answer| {
            matches!(
                answer,
                Expectation::Error(
                    ErrorClass::Missing | ErrorClass::Syntax | ErrorClass::Unsupported
                )
            )
        });
        let prepares = case.prepared.contains(&statement.session) && !is_refused_early;
        let kind = statement.effect.kind;
        if let Some(sent) = own.sent(kind, &step.sql, dialect).filter(|_| prepares) {
            let opaque = || Effect::of_kind(StatementKind::Opaque);
            let prepare = |sql| ClientStep::unjudged(client, sql, opaque());
            steps.extend(sent.prepare.map(prepare));
            step.sql = sent.execute;
        }
        steps.push(step);
    }
    ended.without_mending_ends(steps)
}

fn step(
    line: &CaseLine,
    client: Option<u32>,
    id: Option<StatementId>,
    effect: Effect,
) -> ClientStep {
    let has_note = |name: &str| line.notes.iter().any(|note| note.name == name);
    let clients = |name: &'static str| {
        let notes = line.notes.iter().filter(move |note| note.name == name);
        let words = notes.flat_map(|note| note.text.split([',', ' ']));
        words
            .filter_map(|word| word.strip_prefix('s')?.parse().ok())
            .collect()
    };
    ClientStep {
        client,
        id,
        sql: line.sql.clone(),
        waits: has_note("waits") || has_note("blocks"),
        waits_for: clients("blocks"),
        resumes: clients("resumes"),
        seen: line.observations().into_iter().next(),
        right: line.expectations(),
        has_wrong_effect: line.has_wrong_effect(),
        may_wait: false,
        is_decisive: false,
        outcome: None,
        effect,
    }
}

/// Has a rejection for a lock be right of a wrong answer under NOWAIT, for what an oracle predicts
/// leaves locks out of account. `locked`: nothing else is right.
fn add_refusal(step: &mut ClientStep, locked: bool) {
    let refusal = Expectation::Error(ErrorClass::LockTimeout);
    if step.seen.as_ref() == Some(&refusal) {
        return;
    }
    if locked {
        step.right.clear();
    }
    if !step.right.contains(&refusal) {
        step.right.push(refusal);
    }
}

/// The tables of which each open transaction has locked rows, by its client.
#[derive(Default)]
pub(super) struct LockedTables {
    open: BTreeMap<Option<u32>, BTreeSet<String>>,
}

impl LockedTables {
    /// Whether another client's transaction has locked rows of a table that this step names.
    pub(super) fn meet(&self, step: &ClientStep) -> bool {
        let mut others = self
            .open
            .iter()
            .filter(|(client, _)| **client != step.client);
        let tables = &step.effect.uses;
        others.any(|(_, locked)| tables.iter().any(|used| locked.contains(&used.table)))
    }

    pub(super) fn after(&mut self, step: &ClientStep) {
        let kind = step.effect.kind;
        if kind.is_begin() || step.effect.chains {
            self.open.insert(step.client, BTreeSet::new());
        } else if step.ends_transaction() {
            self.open.remove(&step.client);
        } else if (kind.is_write() || kind == StatementKind::LockingSelect)
            && let Some(locked) = self.open.get_mut(&step.client)
        {
            locked.extend(step.effect.uses.iter().map(|used| used.table.clone()));
        }
    }
}

/// Why nobody can run a case by hand whose finding takes a crash of the server.
const AFTER_A_CRASH: &str = "it shows after the server was killed while the transactions ran: the case \
                             file says what was acknowledged and what is there";

fn takes_a_crash(kind: FindingKind) -> bool {
    matches!(
        kind,
        FindingKind::LostCommit
            | FindingKind::TornTransaction
            | FindingKind::UncommittedSurvives
            | FindingKind::UnexplainedRow
    )
}

/// How the bug shows.
fn symptom<'a>(
    file: &CaseFile,
    steps: impl Iterator<Item = &'a ClientStep> + Clone,
) -> Result<Symptom, DoesNotApply> {
    let kind = kind_of(file);
    match kind {
        Some(FindingKind::Crash) => return Ok(Symptom::Crash),
        Some(FindingKind::Hang) => return Ok(Symptom::Hang),
        Some(
            FindingKind::IndexDisagrees
            | FindingKind::TableCheckFailed
            | FindingKind::UnstableSerialAnswer,
        ) if steps.clone().all(|step| step.right.is_empty()) => {
            return Err(DoesNotApply(
                "what is wrong shows in no answer of the case, but in checks of the tables or runs of \
                 a statement alone that rashomon replay makes: give a read behind it that shows it (`/* end */` \
                 for one of the tables at last) an `-- @expect` note with the right answer"
                    .to_owned(),
            ));
        }
        Some(
            FindingKind::LostCommit
            | FindingKind::TornTransaction
            | FindingKind::UncommittedSurvives
            | FindingKind::UnexplainedRow,
        ) => {
            return Err(DoesNotApply(AFTER_A_CRASH.to_owned()));
        }
        Some(
            FindingKind::Wrong(_)
            | FindingKind::IndexDisagrees
            | FindingKind::TableCheckFailed
            | FindingKind::UnstableSerialAnswer
            | FindingKind::NotSerializable
            | FindingKind::UnexplainedChange
            | FindingKind::MiscountedWrite
            | FindingKind::RefusalWithoutCause
            | FindingKind::WrongTransactionEnd
            | FindingKind::WrongSavepoint
            | FindingKind::WrongCommandTag
            | FindingKind::NumberGivenAgain
            | FindingKind::MistoldNumber
            | FindingKind::InternalError
            | FindingKind::UnexpectedOutcome
            | FindingKind::Anomaly(_)
            | FindingKind::Lock(_),
        )
        | None => {}
    }
    if steps.clone().any(|step| !step.right.is_empty()) {
        return Ok(Symptom::WrongAnswer);
    }
    let seen = steps.clone().any(|step| step.seen.is_some());
    match (seen, kind) {
        (true, Some(_)) => Ok(Symptom::AsSeen),
        (true, None) => Ok(Symptom::NothingWrong),
        (false, _) => Err(DoesNotApply(
            "the file has no answers: `rashomon replay FILE TARGET -o ANSWERED` writes it with them; or \
             give statements `-- @expect` notes"
                .to_owned(),
        )),
    }
}
