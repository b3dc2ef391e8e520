//! What the answer of a step has to be, as mysqltest prints it.

use std::ptr;

use super::pages::Pages;
use crate::export::case_format::DoesNotApply;
use crate::export::client_step::ClientStep;
use crate::export::scenario::Scenario;
use crate::model::{ErrorClass, IsolationLevel, RowOrder, SessionId, StatementKind};
use crate::reproducer::{Cell, Expectation};
use crate::statement;

/// A deadlock, and a lock that was not granted in time, by their codes.
const DEADLOCK: &str = "1213";
const LOCK_TIMEOUT: &str = "1205";

/// A row that is newer than the snapshot (MariaDB manual, `innodb_snapshot_isolation`).
const NEWER_ROW: &str = "1020";

/// What else than its answer a statement may come to on an engine that is right. The test ends there, as
/// skipped, because the answers behind it are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detour {
    None,
    /// The engine chooses this transaction as the victim of a deadlock, and not the one that was seen.
    OtherVictim,
    /// The level that the answers are judged by, or an engine that is right, has the statement wait where the run did
    /// not, until it is refused.
    LockInTheWay(StrongerLevel),
    /// The same of a write that waited in the run, at a level that takes more locks: its subqueries lock what they read
    /// there and find what was committed meanwhile, where those of the run took no lock and did not (MySQL manual, "Locks
    /// Set by Different SQL Statements in InnoDB"). The number of rows that it changes is another one then.
    WaitAtAnotherLevel(StrongerLevel),
}

/// The level that the answers of a client are judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StrongerLevel {
    pub(super) level: IsolationLevel,
    /// It may refuse what takes a lock on a row that changed after the snapshot.
    pub(super) refuses_newer_rows: bool,
}

impl StrongerLevel {
    pub(super) fn of(session: SessionId, scenario: &Scenario<'_>) -> Self {
        Self {
            level: scenario.case.judged_level(session),
            refuses_newer_rows: scenario.refuses_newer_rows(session.0),
        }
    }
}

impl Detour {
    /// The codes of the rejections that lead there.
    pub(super) fn codes(self) -> &'static [&'static str] {
        match self {
            Self::None => &[],
            Self::OtherVictim => &[DEADLOCK],
            Self::LockInTheWay(at) | Self::WaitAtAnotherLevel(at) => match at.refuses_newer_rows {
                true => &[DEADLOCK, LOCK_TIMEOUT, NEWER_ROW],
                false => &[DEADLOCK, LOCK_TIMEOUT],
            },
        }
    }

    pub(super) fn reason(self) -> String {
        match self {
            Self::None | Self::OtherVictim => {
                "The other transaction was the victim of the deadlock".to_owned()
            }
            Self::LockInTheWay(at) | Self::WaitAtAnotherLevel(at) => {
                let what = match at.refuses_newer_rows {
                    true => "A lock or a newer row",
                    false => "A lock",
                };
                format!(
                    "{what} is in the way of this statement, as it may be at {}",
                    at.level
                )
            }
        }
    }

    /// Where another number of changed rows is right, too: why.
    fn other_count(self) -> Option<String> {
        match self {
            Self::WaitAtAnotherLevel(at) => Some(format!(
                "This statement waited, and changes another number of rows than in the run, as it may at {}",
                at.level
            )),
            Self::None | Self::OtherVictim | Self::LockInTheWay(_) => None,
        }
    }
}

/// mysqltest takes ten codes, one of which is 0.
const CODES_MAX: usize = 10;

/// What the result file has behind a statement.
#[derive(Debug)]
pub(super) enum Due {
    /// The rows under their headings, sorted where the statement leaves their order open.
    Table { text: String, sorted: bool },
    /// The number of changed rows.
    Changed(u64),
    /// A rejection with one of these codes.
    Rejection(Vec<String>),
    /// The rejection of a deadlock's victim, if the engine chooses this one.
    Victim,
    /// Nothing: the statement prints nothing, or nothing is compared.
    Nothing,
    /// Rows that the file does not tell: they are printed nowhere.
    Untold,
}

impl Due {
    /// What is due of a step.
    ///
    /// # Errors
    /// When the right answer in place of a wrong one cannot be written as mysqltest prints it.
    pub(super) fn of(step: &ClientStep, scenario: &Scenario<'_>) -> Result<Self, DoesNotApply> {
        let kind = step.effect.kind;
        let is_read = matches!(
            kind,
            StatementKind::Select | StatementKind::LockingSelect | StatementKind::Opaque
        );
        let prints_rows =
            is_read || (kind.is_write() && statement::returns(&step.sql, &scenario.dialect));
        let silent = match prints_rows {
            true => Self::Untold,
            false => Self::Nothing,
        };
        match answer(step) {
            Some(Expectation::Rows(rows)) => match table(step, rows, scenario) {
                Some(due) => Ok(due),
                None if step.is_disputed() => Err(DoesNotApply(format!(
                    "how mysqltest prints the answer of `{}` is not certain: give its columns names \
                     with AS, and show bytes by HEX and numbers with an exponent by ROUND",
                    step.sql
                ))),
                None => Ok(Self::Untold),
            },
            Some(Expectation::Affected(count)) => Ok(Self::Changed(*count)),
            Some(Expectation::Error(ErrorClass::Deadlock)) => Ok(Self::Victim),
            Some(Expectation::Error(class)) => {
                let codes = scenario.dialect.error_codes(*class);
                match codes.is_empty() {
                    true => Err(DoesNotApply(format!(
                        "`{}` is rejected with an error whose code the file does not tell",
                        step.sql
                    ))),
                    false => Ok(Self::Rejection(
                        codes.into_iter().map(str::to_owned).collect(),
                    )),
                }
            }
            Some(Expectation::Accepted | Expectation::Waits | Expectation::DoesNotWait) | None => {
                Ok(silent)
            }
        }
    }

    /// Writes what stands before the statement.
    pub(super) fn prepare(&self, pages: &mut Pages, detour: Detour) {
        // With success first, mysqltest prints nothing of an answer or a rejection.
        let mut borne: Vec<&str> = match (self, detour) {
            (Self::Victim, _) => vec!["0", DEADLOCK],
            (_, Detour::None) => Vec::new(),
            (_, Detour::OtherVictim | Detour::LockInTheWay(_) | Detour::WaitAtAnotherLevel(_)) => {
                vec!["0"]
            }
        };
        match self {
            Self::Table { sorted: true, .. } => pages.command("--sorted_result"),
            Self::Untold => pages.command("--disable_result_log"),
            // With a second code mysqltest prints no text of the error: versions word it differently.
            Self::Rejection(codes) if self.is_listed(detour) => {
                borne = codes.iter().map(String::as_str).collect();
                borne.push("0");
            }
            Self::Rejection(_) => {
                pages.bear_errors();
                return;
            }
            Self::Table { sorted: false, .. } | Self::Changed(_) | Self::Victim | Self::Nothing => {
            }
        }
        for code in detour.codes() {
            if !borne.contains(code) {
                borne.push(code);
            }
        }
        if !borne.is_empty() {
            let named: Vec<&str> = borne.into_iter().map(named).collect();
            pages.command(&format!("--error {}", named.join(",")));
        }
    }

    /// Whether mysqltest takes all codes that may come, one of which is 0.
    fn is_listed(&self, detour: Detour) -> bool {
        match self {
            Self::Rejection(codes) => codes.len() + detour.codes().len() < CODES_MAX,
            Self::Table { .. } | Self::Changed(_) | Self::Victim | Self::Nothing | Self::Untold => {
                true
            }
        }
    }

    /// Writes what stands behind the statement.
    pub(super) fn check(&self, pages: &mut Pages, detour: Detour) {
        if !self.is_listed(detour) {
            pages.compare_again();
        }
        match self {
            Self::Rejection(due) => {
                let others = detour.codes().iter();
                for code in others.filter(|code| !due.iter().any(|due| due == *code)) {
                    pages.skip_if(&format!("$mysql_errno == {code}"), &detour.reason());
                }
            }
            Self::Victim => {
                for code in detour.codes().iter().filter(|code| **code != DEADLOCK) {
                    pages.skip_if(&format!("$mysql_errno == {code}"), &detour.reason());
                }
            }
            Self::Table { .. } | Self::Changed(_) | Self::Nothing | Self::Untold => {
                if detour != Detour::None {
                    pages.skip_if("$mysql_errno != 0", &detour.reason());
                }
            }
        }
        match self {
            Self::Table { text, .. } => pages.expect(text),
            Self::Changed(count) => match detour.other_count() {
                Some(why) => pages.skip_unless_changed(*count, &why),
                None => {
                    pages.sql("SELECT ROW_COUNT()");
                    pages.expect(&format!("ROW_COUNT()\n{count}\n"));
                }
            },
            Self::Rejection(_) if self.is_listed(detour) => {
                pages.expect("Got one of the listed errors\n");
            }
            Self::Rejection(_) => pages.die_if("$mysql_errno == 0", "The statement was accepted"),
            Self::Victim => pages.skip_if("$mysql_errno == 0", &Detour::OtherVictim.reason()),
            Self::Untold => pages.command("--enable_result_log"),
            Self::Nothing => {}
        }
    }
}

/// A code as tests of the engines spell it, where the name says more.
fn named(code: &str) -> &str {
    match code {
        DEADLOCK => "ER_LOCK_DEADLOCK",
        LOCK_TIMEOUT => "ER_LOCK_WAIT_TIMEOUT",
        NEWER_ROW => "ER_CHECKREAD",
        other => other,
    }
}

/// The answer that the engine should give; none where the file does not say.
fn answer(step: &ClientStep) -> Option<&Expectation> {
    match step.is_disputed() {
        true => step.right.iter().find(|right| !right.is_about_waiting()),
        false => step.seen.as_ref().or(step.right.first()),
    }
}

/// Whether a client that waits may find itself the victim of a deadlock behind this step: the engine may choose this step's
/// transaction as well. Where the case does not say which step lets the victim go on, it is any that may take locks.
pub(super) fn closes_deadlock(step: &ClientStep, scenario: &Scenario<'_>) -> bool {
    let deadlock = Expectation::Error(ErrorClass::Deadlock);
    let steps = scenario.steps.as_slice();
    let is_victim = |other: &ClientStep| other.waits && answer(other) == Some(&deadlock);
    steps.iter().enumerate().any(|(place, victim)| {
        let Some(client) = victim.client.filter(|_| is_victim(victim)) else {
            return false;
        };
        let later = &steps[place..];
        let is_told = later.iter().any(|other| other.resumes.contains(&client));
        let may_close = !step.effect.kind.is_control() && step.client != Some(client);
        match is_told {
            true => step.resumes.contains(&client),
            false => may_close && later.iter().any(|other| ptr::eq(other, step)),
        }
    })
}

/// Rows under their headings; none where the text of the statement does not tell the headings, or a
/// value has no text that is certain.
fn table(step: &ClientStep, rows: &[Vec<Cell>], scenario: &Scenario<'_>) -> Option<Due> {
    let headings = statement::headings(&step.sql, &scenario.case.tables, &scenario.dialect)?;
    let sorted = step.effect.row_order == RowOrder::Unordered;
    let mut lines = Vec::new();
    for row in rows {
        if row.len() != headings.len() {
            return None;
        }
        let cells: Option<Vec<String>> = row.iter().map(printed).collect();
        lines.push(cells?.join("\t"));
    }
    if sorted {
        lines.sort();
    }
    lines.insert(0, headings.join("\t"));
    let text = lines.into_iter().map(|line| line + "\n").collect();
    Some(Due::Table { text, sorted })
}

/// A value as mysqltest prints it.
fn printed(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Null => Some("NULL".to_owned()),
        // With an exponent the engine and our notes spell a number differently.
        Cell::Number(number) if number.contains(['e', 'E']) => None,
        // A float that is whole: a decimal has its scale of digits, which here is two or none.
        Cell::Number(number) => Some(match number.strip_suffix(".0") {
            Some(whole) => whole.to_owned(),
            None => number.clone(),
        }),
        Cell::Text(text) => Some(text.clone()),
        Cell::Bytes(bytes) => {
            let plain = bytes.iter().all(|byte| (b' '..=b'~').contains(byte));
            let text = plain.then(|| String::from_utf8(bytes.clone()))?;
            text.ok()
        }
    }
}
