//! Between case files and test cases.

use std::collections::BTreeMap;

use super::{CaseFile, CaseLine, Header, Isolation, Note, Reproduced, Tag};
use crate::dialect::Dialect;
use crate::engine::Identity;
use crate::model::{Execution, Finding, IsolationLevel, SessionId, SetupStatement, TestCase};
use crate::statement;

/// The case asks for something this engine does not have: it cannot run here, which says nothing
/// about the engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotForThisEngine {
    #[error("{engine} has no isolation level {level}")]
    Level {
        engine: String,
        level: IsolationLevel,
    },
    #[error("line {line}: {session} has no isolation level")]
    NoLevel { line: usize, session: SessionId },
}

impl CaseFile {
    /// The test case of this file for a dialect. The `/* end */` statements are not part of it.
    ///
    /// # Errors
    /// When the engine has no level that the file asks for.
    pub fn test_case(&self, dialect: &Dialect) -> Result<TestCase, NotForThisEngine> {
        let setup: Vec<SetupStatement> = self
            .tagged(Tag::Init)
            .map(|line| SetupStatement {
                sql: line.sql.clone(),
                kind: statement::setup_kind(&line.sql, dialect),
            })
            .collect();
        let mut isolation = BTreeMap::new();
        let mut lines = Vec::new();
        for line in &self.lines {
            let Tag::Session(session) = line.tag else {
                continue;
            };
            let level = self.level(session).ok_or(NotForThisEngine::NoLevel {
                line: line.line,
                session,
            })?;
            if !dialect.levels.contains(&level) {
                return Err(NotForThisEngine::Level {
                    engine: dialect.engine.clone(),
                    level,
                });
            }
            isolation.insert(session, level);
            let effect = statement::analyze(&line.sql, dialect);
            lines.push((session, line.sql.clone(), effect));
        }
        let tables = statement::shapes(&setup, dialect);
        Ok(
            TestCase::new(setup, tables, lines, isolation, self.header.claim)
                .at_pace(self.header.pace),
        )
    }

    /// A case file of a test case, without anything that a run would add.
    pub fn of_case(case: &TestCase) -> Self {
        let mut lines: Vec<CaseLine> = case
            .setup
            .iter()
            .map(|setup| CaseLine::new(Tag::Init, trimmed(&setup.sql)))
            .collect();
        lines.extend(
            case.statements
                .iter()
                .map(|s| CaseLine::new(Tag::Session(s.session), trimmed(&s.sql))),
        );
        let mut levels: Vec<IsolationLevel> = case.isolation.values().copied().collect();
        levels.dedup();
        let isolation = match levels.as_slice() {
            [level] => Isolation::All(*level),
            _ => Isolation::Each(case.isolation.clone()),
        };
        let mut header = Header::new(isolation);
        header.claim = case.claim;
        header.pace = case.pace;
        Self {
            header,
            lines,
            last_comments: Vec::new(),
        }
    }

    /// The reproducer of a finding: the case with its header, and what the run showed as notes.
    pub fn of_finding(
        case: &TestCase,
        finding: &Finding,
        execution: &Execution,
        server: &Identity,
        seed: &str,
        reproduced: Reproduced,
    ) -> Self {
        let mut file = Self::of_case(case);
        let header = &mut file.header;
        header.engine = Some(server.engine.clone());
        header.seen_on = vec![server.version_text.clone()];
        header.variables = server.variables.clone();
        header.oracle = Some(finding.signature.oracle.clone());
        header.kind = Some(finding.signature.kind.clone());
        header.seed = Some(seed.to_owned());
        header.reproduced = Some(reproduced);
        header.signature = Some(finding.signature.id());
        let mut comments = vec![one_line(&finding.headline)];
        for difference in &finding.differences {
            let place = difference
                .statement
                .map_or("the end".to_owned(), |id| id.to_string());
            comments.push(one_line(&format!(
                "{place}, {}: expected {}, got {}",
                difference.aspect, difference.expected, difference.got
            )));
        }
        if finding.differences.is_empty() {
            comments.extend(finding.explanation.iter().map(|line| one_line(line)));
        }
        if !server.session_setup.is_empty() {
            let setup = one_line(&server.session_setup.join("; "));
            comments.push(format!("every session first: {setup}"));
        }
        header.comments.last = comments;
        file.add_run(case, execution);
        file
    }

    /// Adds what a run of the case showed: who waited for whom, and every answer.
    fn add_run(&mut self, case: &TestCase, execution: &Execution) {
        let first = case.setup.len();
        for (index, statement) in case.statements.iter().enumerate() {
            let (Some(line), Some(record)) = (
                self.lines.get_mut(first + index),
                execution.records.get(&statement.id),
            ) else {
                continue;
            };
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
                let resumer = resumer(case, execution, statement.session, waiting, record.answered);
                if let Some(resumer) = resumer {
                    self.lines[first + resumer]
                        .notes
                        .push(Note::resumes(statement.session));
                }
            }
            let silent =
                statement.effect.kind.is_control() && record.outcome.error_class().is_none();
            if !silent {
                self.lines[first + index]
                    .notes
                    .push(Note::outcome(&record.outcome));
            }
        }
        for (table, rows) in &execution.final_state {
            let text = Note::outcome(&crate::model::Outcome::Rows(rows.clone())).text;
            self.last_comments
                .push(format!("at the end, {table}: {text}"));
        }
    }
}

/// The statement of another session whose answer came last before a waiting one's.
fn resumer(
    case: &TestCase,
    execution: &Execution,
    session: SessionId,
    waiting: crate::model::Tick,
    answered: crate::model::Tick,
) -> Option<usize> {
    case.statements
        .iter()
        .enumerate()
        .filter(|(_, s)| s.session != session)
        .filter_map(|(index, s)| Some((execution.records.get(&s.id)?.answered, index)))
        .filter(|(tick, _)| (waiting..answered).contains(tick))
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
