//! Between case files and test cases.

use std::collections::{BTreeMap, BTreeSet};

use super::levels::{self, LevelLine};
use super::{CaseFile, CaseLine, Header, Isolation, Note, Reproduced, SessionSetup, Tag};
use super::{cell, note};
use crate::dialect::Dialect;
use crate::engine::Identity;
use crate::model::{
    Aspect, CaseStatement, Difference, Effect, ErrorClass, Execution, Finding, FindingKind,
    IsolationLevel, Outcome, ProbeAnswer, ProbeTag, RowOrder, SessionId, SetupStatement,
    StatementId, StatementKind, TableShape, TestCase, TransactionStatus,
};
use crate::statement::{self, Catalog};

/// Why a case file cannot run on a server, which says nothing about the engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotRun {
    #[error("{engine} has no isolation level {level}")]
    Level {
        engine: String,
        level: IsolationLevel,
    },
    #[error("line {line}: {session} has no isolation level")]
    NoLevel { line: usize, session: SessionId },
    #[error(
        "line {line}: the tag calls the statement {given}, and it is {counted}: correct the number, or \
         leave it out"
    )]
    Number {
        line: usize,
        given: StatementId,
        counted: StatementId,
    },
    #[error(
        "session_setup of {session} is {given:?}, and sessions of {engine} execute {executed:?}: make \
         statements of the session of what differs, and correct or remove session_setup"
    )]
    SessionSetup {
        session: SessionId,
        engine: String,
        given: Vec<String>,
        executed: Vec<String>,
    },
    #[error(
        "the header has sessions send prepared statements, and {engine} has no PREPARE: remove `prepared`"
    )]
    Prepared { engine: String },
}

impl CaseFile {
    /// The test case of this file for a dialect. The `/* end */` statements are not part of it.
    ///
    /// # Errors
    /// When the engine has no level that the file asks for, or the numbers or the session set-up that
    /// the file gives are not those of the run.
    pub fn test_case(&self, dialect: &Dialect) -> Result<TestCase, CannotRun> {
        let setup: Vec<SetupStatement> = self
            .tagged(Tag::Init)
            .map(|line| SetupStatement {
                sql: line.sql.clone(),
                kind: statement::setup_kind(&line.sql, dialect),
            })
            .collect();
        let catalog = Catalog::of(&setup, dialect);
        let mut isolation = BTreeMap::new();
        let mut lines = Vec::new();
        let (effects, levels) = self.effects(&catalog, dialect);
        for ((line, session), effect) in self.session_lines().zip(effects) {
            let level = levels.get(&session).copied().or(self.level(session));
            let level = level.ok_or(CannotRun::NoLevel {
                line: line.line,
                session,
            })?;
            if !dialect.levels.contains(&level) {
                return Err(CannotRun::Level {
                    engine: dialect.engine.clone(),
                    level,
                });
            }
            self.check_session_setup(session, level, dialect)?;
            isolation.insert(session, level);
            lines.push((session, line.sql.clone(), effect));
        }
        let prepared = self.header.prepared.clone();
        if !prepared.is_empty() && dialect.spelling.prepared.is_none() {
            let engine = dialect.engine.clone();
            return Err(CannotRun::Prepared { engine });
        }
        let case = TestCase::new(setup, catalog.tables, lines, isolation, self.header.claim)
            .at_pace(self.header.pace)
            .prepared_in(prepared);
        self.check_numbers(&case)?;
        Ok(case)
    }

    /// The effects of the statements of sessions, in submitted order, and the levels of the sessions that set them
    /// by their statements. A file that tells what its sessions executed before is read by its header alone.
    fn effects(
        &self,
        catalog: &Catalog,
        dialect: &Dialect,
    ) -> (Vec<Effect>, BTreeMap<SessionId, IsolationLevel>) {
        let lines: Vec<(&CaseLine, SessionId)> = self.session_lines().collect();
        let effects = lines
            .iter()
            .map(|(line, _)| catalog.effect(&line.sql, dialect));
        let mut effects: Vec<Effect> = effects.collect();
        let sessions: BTreeSet<SessionId> = lines.iter().map(|(_, session)| *session).collect();
        let mut levels = BTreeMap::new();
        for session in sessions {
            let own = lines.iter().zip(&mut effects);
            let own = own.filter(|((_, of), _)| *of == session);
            let mut own: Vec<LevelLine<'_>> = own
                .map(|((line, _), effect)| LevelLine {
                    sql: &line.sql,
                    effect,
                })
                .collect();
            let header = self.level(session);
            let may_differ = self.session_setup(session).is_none();
            let level = levels::one_level(&mut own, header, may_differ, dialect);
            levels.extend(level.map(|level| (session, level)));
        }
        (effects, levels)
    }

    /// The statements of sessions, in submitted order.
    fn session_lines(&self) -> impl Iterator<Item = (&CaseLine, SessionId)> {
        self.lines.iter().filter_map(|line| match line.tag {
            Tag::Session(session) => Some((line, session)),
            Tag::Init | Tag::End => None,
        })
    }

    /// A file that was seen on another engine says nothing of this engine's sessions.
    fn check_session_setup(
        &self,
        session: SessionId,
        level: IsolationLevel,
        dialect: &Dialect,
    ) -> Result<(), CannotRun> {
        let Some(given) = self.session_setup(session) else {
            return Ok(());
        };
        if self.header.engine.as_ref() != Some(&dialect.engine) {
            return Ok(());
        }
        let mut executed = dialect.session_setup.clone();
        executed.extend(dialect.set_isolation(level));
        if given == executed {
            return Ok(());
        }
        Err(CannotRun::SessionSetup {
            session,
            engine: dialect.engine.clone(),
            given: given.to_vec(),
            executed,
        })
    }

    fn check_numbers(&self, case: &TestCase) -> Result<(), CannotRun> {
        for ((line, _), statement) in self.session_lines().zip(&case.statements) {
            let counted = statement.id;
            if let Some(given) = line.number.filter(|given| *given != counted) {
                return Err(CannotRun::Number {
                    line: line.line,
                    given,
                    counted,
                });
            }
        }
        Ok(())
    }

    /// A case file of a test case, without anything that a run would add.
    pub fn of_case(case: &TestCase) -> Self {
        let mut lines: Vec<CaseLine> = case
            .setup
            .iter()
            .map(|setup| CaseLine::new(Tag::Init, trimmed(&setup.sql)))
            .collect();
        lines.extend(case.statements.iter().map(|s| {
            let mut line = CaseLine::new(Tag::Session(s.session), trimmed(&s.sql));
            line.number = Some(s.id);
            line
        }));
        let mut levels: Vec<IsolationLevel> = case.isolation.values().copied().collect();
        levels.dedup();
        let isolation = match levels.as_slice() {
            [level] => Isolation::All(*level),
            _ => Isolation::Each(case.isolation.clone()),
        };
        let mut header = Header::new(isolation);
        header.claim = case.claim;
        header.pace = case.pace;
        header.prepared = case.prepared.clone();
        Self {
            header,
            lines,
            last_comments: Vec::new(),
        }
    }

    /// A case and what a run of it showed on this server.
    pub fn of_run(case: &TestCase, execution: &Execution, server: &Identity) -> Self {
        let mut file = Self::of_case(case);
        let header = &mut file.header;
        header.engine = Some(server.engine.clone());
        header.seen_on = vec![server.version_text.clone()];
        header.variables = server.variables.clone();
        header.session_setup = session_setup(case, server);
        file.add_run(case, execution);
        file
    }

    /// The reproducer of a finding: the case with its header, and what the run showed as notes. `seed` is
    /// empty where the case was not drawn.
    pub fn of_finding(
        case: &TestCase,
        finding: &Finding,
        execution: &Execution,
        server: &Identity,
        seed: &str,
        reproduced: Reproduced,
    ) -> Self {
        let mut file = Self::of_run(case, execution, server);
        let header = &mut file.header;
        header.anomaly = Some(finding.signature.anomaly.slug().to_owned());
        header.oracle = Some(finding.signature.oracle.clone());
        header.kind = Some(finding.signature.kind.slug().to_owned());
        header.seed = (!seed.is_empty()).then(|| seed.to_owned());
        header.reproduced = Some(reproduced);
        header.signature = Some(finding.signature.id());
        let mut comments = vec![one_line(&finding.headline)];
        // Of a run without a serial order, the cycle is the evidence: what differs from one order is not.
        let statements_differ = matches!(finding.signature.kind, FindingKind::Wrong(_));
        if statements_differ {
            for difference in &finding.differences {
                if !file.add_expectation(case, difference, execution) {
                    comments.push(one_line(&difference.to_string()));
                }
            }
            for difference in &finding.differences {
                comments.extend(file.note_wrong_effect(case, difference));
            }
            if let Some(difference) = last_effect(case, finding, execution) {
                file.expect_end_behind(case, difference, execution);
            }
        } else {
            comments.extend(finding.explanation.iter().map(|line| one_line(line)));
        }
        file.header.comments.last = comments;
        file
    }

    /// Adds what a run of the case showed: who waited for whom, every answer, and every table after
    /// the run.
    fn add_run(&mut self, case: &TestCase, execution: &Execution) {
        let first = case.setup.len();
        for (index, statement) in case.statements.iter().enumerate() {
            let (Some(line), Some(record)) = (
                self.lines.get_mut(first + index),
                execution.records.get(&statement.id),
            ) else {
                continue;
            };
            let fixes_snapshot = |probe: &&ProbeAnswer| {
                probe.statement == statement.id && probe.tag == ProbeTag::FixSnapshot
            };
            let snapshot_reads = execution.probes.iter().filter(fixes_snapshot);
            line.notes
                .extend(snapshot_reads.map(|probe| Note::new("snapshot-read", &probe.sql)));
            let mut sessions: Vec<SessionId> = record
                .waited_for
                .iter()
                .filter_map(|transaction| case.session_of(*transaction))
                .collect();
            sessions.dedup();
            line.notes.extend(sessions.into_iter().map(Note::blocks));
            if let Some(waiting) = record.waiting {
                if record.waited_for.is_empty() {
                    line.notes.push(Note::new("waits", ""));
                }
                let resumer = resumer(case, execution, statement, waiting);
                if let Some(resumer) = resumer {
                    self.lines[first + resumer]
                        .notes
                        .push(Note::resumes(statement.session));
                }
            }
            let silent =
                statement.effect.kind.is_control() && record.outcome.error_class().is_none();
            if !silent {
                let outcome = in_order_of(&record.outcome, statement.effect.row_order);
                self.lines[first + index]
                    .notes
                    .push(Note::outcome(&outcome));
            }
        }
        for (table, rows) in case.own_final_state(execution) {
            let mut line = CaseLine::new(Tag::End, whole_table(case, table));
            line.notes.push(Note::outcome(&Outcome::Rows(rows)));
            self.lines.push(line);
        }
    }

    /// Writes what the oracle expects behind the statement that differs, or behind the table's line of
    /// the end state; whether there is a place for it: the effect of a write is no answer of a line.
    fn add_expectation(
        &mut self,
        case: &TestCase,
        difference: &Difference,
        execution: &Execution,
    ) -> bool {
        let (text, place) = match difference.statement {
            Some(id) => (
                note::expected_answer(&difference.expected),
                self.lines.iter().position(|line| line.number == Some(id)),
            ),
            None => {
                let end = expected_end(case, difference, execution);
                let sql = end.as_ref().map(|(table, _)| whole_table(case, table));
                let is_end =
                    |line: &CaseLine| line.tag == Tag::End && Some(&line.sql) == sql.as_ref();
                (
                    end.map(|(_, text)| text),
                    self.lines.iter().position(is_end),
                )
            }
        };
        let (Some(text), Some(place)) = (text, place) else {
            return false;
        };
        let note = Note::new(note::EXPECT, text);
        let notes = &mut self.lines[place].notes;
        if !notes.contains(&note) {
            notes.push(note);
        }
        true
    }
}

impl CaseFile {
    /// Notes a write whose effect differs. Each is judged on the rows that it saw, so that what a wrong one left is in all
    /// that came behind it, the end of the case, too: where the table's line there does not show what the write should have
    /// left, what the line expects is not certain. It goes then; returned is what it said, for people.
    fn note_wrong_effect(&mut self, case: &TestCase, difference: &Difference) -> Option<String> {
        let id = difference
            .statement
            .filter(|_| difference.aspect == Aspect::Effect)?;
        let (table, right) = difference.expected.split_once(": ")?;
        let (_, left) = difference.got.split_once(": ")?;
        let line = self.lines.iter_mut().find(|line| line.number == Some(id))?;
        line.notes.push(Note::new(note::WRONG_EFFECT, table));
        let sql = whole_table(case, table);
        let is_end = |line: &&mut CaseLine| line.tag == Tag::End && line.sql == sql;
        let end = self.lines.iter_mut().find(is_end)?;
        if end.shows(right, left) {
            return None;
        }
        let uncertain = end.notes.extract_if(.., |note| note.name == note::EXPECT);
        let texts: Vec<String> = uncertain.map(|note| note.text).collect();
        let first = texts.first()?;
        Some(one_line(&format!(
            "the end of {table}, but for the effects above: expected {first}"
        )))
    }
}

impl CaseFile {
    /// Writes behind a table's line of the end state what the table holds where its last write had done what it should.
    fn expect_end_behind(&mut self, case: &TestCase, effect: &Difference, execution: &Execution) {
        let Some((table, text)) = expected_end(case, effect, execution) else {
            return;
        };
        let sql = whole_table(case, table);
        let is_end = |line: &&mut CaseLine| line.tag == Tag::End && line.sql == sql;
        if let Some(end) = self.lines.iter_mut().find(is_end) {
            end.notes.push(Note::new(note::EXPECT, text));
        }
    }
}

/// The wrong effect of a finding, if nothing else is wrong with it, the write's transaction committed, and no other statement
/// may have written the table since the write was sent. Then the end follows from it.
fn last_effect<'f>(
    case: &TestCase,
    finding: &'f Finding,
    execution: &Execution,
) -> Option<&'f Difference> {
    let [difference] = finding.differences.as_slice() else {
        return None;
    };
    let id = difference
        .statement
        .filter(|_| difference.aspect == Aspect::Effect)?;
    let (table, _) = difference.expected.split_once(": ")?;
    // Which numbers a counter gives depends on what took some before, and on what went wrong there.
    let has_counter = |shape: &TableShape| shape.columns.iter().any(|column| column.counted);
    case.table(table).filter(|shape| !has_counter(shape))?;
    let sent = execution.records.get(&id)?.sent;
    let status = execution.transactions.get(&id.transaction)?;
    let disturbs = |statement: &&CaseStatement| {
        let kind = statement.effect.kind;
        let mut targets = statement.effect.targets();
        let undoes =
            kind == StatementKind::RollbackTo && statement.id.transaction == id.transaction;
        undoes || kind == StatementKind::Opaque || targets.any(|target| target == table)
    };
    let is_later = |statement: &CaseStatement| {
        let record = execution.records.get(&statement.id);
        record.is_some_and(|record| record.answered > sent)
    };
    let mut others = case.statements.iter().filter(|s| s.id != id);
    let is_last = !others.any(|statement| is_later(statement) && disturbs(&statement));
    (is_last && matches!(status, TransactionStatus::Committed(_))).then_some(difference)
}

/// What each session of the case executed before its first statement.
fn session_setup(case: &TestCase, server: &Identity) -> Option<SessionSetup> {
    let of_level = |level: &IsolationLevel| {
        let mut statements = server.session_setup.clone();
        statements.extend(server.isolation_setup.get(level).cloned());
        statements
    };
    let each: BTreeMap<SessionId, Vec<String>> = case
        .isolation
        .iter()
        .map(|(session, level)| (*session, of_level(level)))
        .collect();
    let first = each.values().next().filter(|first| !first.is_empty())?;
    Some(if each.values().all(|statements| statements == first) {
        SessionSetup::All(first.clone())
    } else {
        SessionSetup::Each(each)
    })
}

/// The outcome with its rows sorted, where the statement leaves their order open.
fn in_order_of(outcome: &Outcome, order: RowOrder) -> Outcome {
    match (outcome, order) {
        (Outcome::Rows(rows), RowOrder::Unordered) => {
            let mut rows = rows.clone();
            rows.sort();
            Outcome::Rows(rows)
        }
        (outcome, _) => outcome.clone(),
    }
}

/// Reads a whole table, by the name that the set-up gives it, quotes included.
fn whole_table(case: &TestCase, table: &str) -> String {
    let quoted = ['`', '"'].map(|quote| format!("{quote}{table}{quote}"));
    let is_used = |name: &&String| case.setup.iter().any(|s| s.sql.contains(name.as_str()));
    let name = quoted.iter().find(is_used).map_or(table, String::as_str);
    format!("SELECT * FROM {name}")
}

/// The table that a difference of the end state is about, with all rows that it should have: those of
/// the run, without the extra ones and with the missing ones.
fn expected_end<'a>(
    case: &TestCase,
    difference: &'a Difference,
    execution: &Execution,
) -> Option<(&'a str, String)> {
    let (table, missing) = difference.expected.split_once(": ")?;
    let (same, extra) = difference.got.split_once(": ")?;
    let mut rows = case.own_final_state(execution).remove(table)?;
    for extra in cell::rows(extra).ok()? {
        let at = rows.iter().position(|row| cell::row_meets(&extra, row))?;
        rows.remove(at);
    }
    let readable = table == same && cell::rows(missing).is_ok();
    let kept = crate::model::rows_text(&rows);
    let text = match (rows.is_empty(), missing == "empty") {
        (true, _) => missing.to_owned(),
        (false, true) => kept,
        (false, false) => format!("{kept} {missing}"),
    };
    readable.then_some((table, text))
}

/// The statement of another session that lets one go on which waits since `waiting`: the one whose answer came last
/// before. The victim of a deadlock may be told before the statement that closes it is answered: the one sent last.
fn resumer(
    case: &TestCase,
    execution: &Execution,
    waiter: &CaseStatement,
    waiting: crate::model::Tick,
) -> Option<usize> {
    let record = execution.records.get(&waiter.id)?;
    let is_victim = record.outcome.error_class() == Some(ErrorClass::Deadlock);
    case.statements
        .iter()
        .enumerate()
        .filter(|(_, s)| s.session != waiter.session)
        .filter_map(|(index, s)| {
            let other = execution.records.get(&s.id)?;
            let moment = if is_victim {
                other.sent
            } else {
                other.answered
            };
            Some((moment, index))
        })
        .filter(|(tick, _)| (waiting..record.answered).contains(tick))
        .max()
        .map(|(_, index)| index)
}

/// A statement without blanks around it and without a semicolon of its own.
fn trimmed(sql: &str) -> &str {
    sql.trim().trim_end_matches(';').trim_end()
}

/// A text for a comment: no line breaks, no other control characters.
fn one_line(text: &str) -> String {
    let blank = |c: char| if c.is_control() { ' ' } else { c };
    text.chars()
        .map(blank)
        .collect::<String>()
        .trim()
        .to_owned()
}
