//! A test for the engine's own suite: a `.test` for mysqltest and the `.result` of an engine that is
//! right.
//!
//! The result says what the case expects where it expects something, and what was seen elsewhere. What
//! follows a write that went wrong is run and not compared: on an engine that is right it differs.

mod due;
mod hex;
mod pages;
mod refused_late;
#[cfg(test)]
mod spoilt_tests;
#[cfg(test)]
mod tests;

use std::ptr;

use super::case_format::{CaseFormat, DoesNotApply, Exported};
use super::client_step::ClientStep;
use super::plan::{Turn, plan};
use super::scenario::{Scenario, Symptom};
use super::words;
use crate::model::SessionId;
use crate::reproducer::{CaseFile, Expectation};
use due::{Detour, Due, StrongerLevel, closes_deadlock};
use hex::by_hex;
use pages::{Awaited, Pages};
use refused_late::is_refused_late;

/// How long the test waits for a statement to wait, in seconds, before it fails.
const WAIT_SECONDS: u32 = 10;

/// How long a statement waits that was not seen waiting, in seconds, before the test is skipped.
/// Those that always wait go on far sooner.
const LOCK_SECONDS: u32 = 5;

pub(super) struct Mtr;

impl CaseFormat for Mtr {
    fn name(&self) -> &'static str {
        "mtr"
    }

    fn about(&self) -> &'static str {
        "a test for mysqltest, with the .result of an engine that is right beside it"
    }

    fn extension(&self) -> &'static str {
        "test"
    }

    fn write(&self, file: &CaseFile) -> Result<Exported, DoesNotApply> {
        let scenario = Scenario::of(file)?;
        check(&scenario)?;
        let pages = test(&scenario)?;
        Ok(match scenario.symptom {
            Symptom::WrongAnswer | Symptom::NothingWrong => Exported {
                text: pages.test,
                beside: Some(("result", pages.result)),
                remark: None,
            },
            Symptom::AsSeen | Symptom::Crash | Symptom::Hang => Exported {
                text: pages.test,
                beside: None,
                remark: Some(
                    "the case expects no answer of a single statement, so there is no .result: record \
                     it with an engine that is right (mariadb-test-run or mysql-test-run, --record)"
                        .to_owned(),
                ),
            },
        })
    }
}

/// Refuses what mysqltest cannot run.
fn check(scenario: &Scenario<'_>) -> Result<(), DoesNotApply> {
    if !scenario.maintainers.has_mysqltest {
        return Err(DoesNotApply(format!(
            "mysqltest runs tests of MySQL and MariaDB, not of {}",
            scenario.maintainers.product
        )));
    }
    match scenario.texts().find(|sql| sql.contains('\\')) {
        Some(sql) => Err(DoesNotApply(format!(
            "mysqltest takes a backslash in quotes for an escape, and the case does not: {sql}"
        ))),
        None => Ok(()),
    }
}

fn test(scenario: &Scenario<'_>) -> Result<Pages, DoesNotApply> {
    let turns = plan(scenario);
    let may_be_skipped = scenario.case.claim.is_some() || turns.iter().any(Turn::may_be_refused);
    let mut writer = Writer {
        scenario,
        pages: Pages::with_drops(drops(scenario)),
        compared: true,
        in_flight: None,
        is_end_known: true,
    };
    head(&mut writer.pages, scenario, may_be_skipped);
    for turn in &turns {
        writer.take(turn)?;
    }
    writer.end()?;
    Ok(writer.pages)
}

/// Writes the turns of a test.
struct Writer<'s> {
    scenario: &'s Scenario<'s>,
    pages: Pages,
    /// Whether answers are compared.
    compared: bool,
    /// A write that went wrong, from when it is sent until its answer is compared. What it did may show in every
    /// answer meanwhile.
    in_flight: Option<&'s ClientStep>,
    /// Whether what the case expects at the end is right.
    is_end_known: bool,
}

impl<'s> Writer<'s> {
    fn take(&mut self, turn: &Turn<'s>) -> Result<(), DoesNotApply> {
        match *turn {
            Turn::Disconnect(number) => self.pages.disconnect(&format!("c{number}")),
            Turn::Send {
                step,
                may_answer,
                meets_changes,
                ref may_deadlock_with,
            } => {
                self.send(step, may_answer, may_deadlock_with);
                if self.compared && meets_changes {
                    let session = step.client.map(SessionId);
                    let level = session.map(|s| StrongerLevel::of(s, self.scenario));
                    let detour = level.map_or(Detour::None, Detour::LockInTheWay);
                    self.pages.skip_if_waits(&client(step), &detour.reason());
                }
            }
            Turn::StillWaits(step) => {
                let went_on = format!("# The bug: {} went on here.", client(step));
                self.pages.command(&went_on);
                let awaited = match self.compared {
                    true => Awaited::Wait,
                    false => Awaited::MoreOrAnswer,
                };
                self.pages.wait(&client(step), awaited, WAIT_SECONDS);
                // What it answers when it goes on later was seen nowhere.
                self.in_flight = None;
                self.stop_comparing();
            }
            Turn::Run { step, .. } | Turn::Reap { step, .. } => {
                self.pages.go_to(&client(step));
                self.compare_or_not(step);
                if self.compared && is_refused_late(step, self.scenario) {
                    self.answer_of_refused();
                } else {
                    self.answer(step, turn)?;
                }
                if step.spoils_what_follows() {
                    self.stop_comparing();
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, step: &'s ClientStep, may_answer: bool, may_deadlock_with: &[u32]) {
        // Behind a wrong answer another one may wait, and the wait that closes a deadlock is over at
        // once.
        let may_answer = may_answer || !self.compared || closes_deadlock(step, self.scenario);
        let may_deadlock = !may_answer && !may_deadlock_with.is_empty();
        let awaited = match may_answer || may_deadlock {
            true => {
                self.pages.number(&client(step));
                Awaited::WaitOrAnswer
            }
            false => Awaited::Wait,
        };
        self.pages.go_to(&client(step));
        note_fault(&mut self.pages, step, self.scenario);
        self.pages.send(&step.sql);
        self.pages.wait(&client(step), awaited, WAIT_SECONDS);
        if may_deadlock {
            self.skip_behind_deadlock(step, may_deadlock_with);
        }
        // The others go on before it then, and their answers were seen behind it.
        if step.waits_wrongly() {
            self.stop_comparing();
        } else if self.compared && step.spoils_what_follows() {
            self.in_flight = Some(step);
        }
    }

    /// Ends the test, as one that was not run, where a statement that has to wait was answered because it closed a
    /// deadlock at the claimed level; where it was answered without one, fails it.
    fn skip_behind_deadlock(&mut self, step: &ClientStep, others: &[u32]) {
        let level = step
            .client
            .map(|c| self.scenario.case.judged_level(SessionId(c)));
        let level = level.map_or_else(String::new, |level| format!(", as it may at {level}"));
        let why = format!("This statement closes a deadlock{level}");
        self.pages.begin_if_answered(&client(step));
        for other in others {
            self.pages.skip_if_answered(&format!("c{other}"), &why);
        }
        self.pages.reap_or_skip(&client(step), &why);
        self.pages.die("The statement did not wait");
        self.pages.command("}");
    }

    /// Has the answer of a wrong write compared, and those that are taken while it is in flight not.
    fn compare_or_not(&mut self, step: &ClientStep) {
        let Some(in_flight) = self.in_flight else {
            return;
        };
        if ptr::eq(in_flight, step) {
            self.in_flight = None;
            if !self.compared {
                self.compared = true;
                self.pages.compare_again();
            }
        } else if !step.effect.kind.is_control() {
            self.stop_comparing();
        }
    }

    /// Executes a statement, or takes the answer of one that was sent.
    fn answer(&mut self, step: &ClientStep, turn: &Turn<'_>) -> Result<(), DoesNotApply> {
        let (due, detour) = match self.compared {
            true => (
                Due::of(step, self.scenario)?,
                detour(step, turn.may_be_refused(), self.scenario),
            ),
            false => (Due::Nothing, Detour::None),
        };
        let is_sent = matches!(turn, Turn::Reap { .. });
        if !is_sent {
            note_fault(&mut self.pages, step, self.scenario);
        }
        due.prepare(&mut self.pages, detour);
        match is_sent {
            true => self.pages.command("--reap"),
            false => self.pages.sql(&step.sql),
        }
        due.check(&mut self.pages, detour);
        if !self.compared && self.in_flight.is_some() && turn.may_be_refused() {
            self.skip_if_refused(step);
        }
        Ok(())
    }

    /// Ends the test, as one that was not run, where a statement is refused for a lock, as it was not in the run: the write
    /// that is in flight meets other rows then, and its answer is not known.
    fn skip_if_refused(&mut self, step: &ClientStep) {
        let detour = detour(step, true, self.scenario);
        let seen: Vec<&str> = match step.seen {
            Some(Expectation::Error(class)) => self.scenario.dialect.error_codes(class),
            Some(_) | None => Vec::new(),
        };
        for code in detour.codes().iter().filter(|code| !seen.contains(code)) {
            self.pages
                .skip_if(&format!("$mysql_errno == {code}"), &detour.reason());
        }
    }

    /// Takes the answer of a statement that a bug refused: any is right.
    fn answer_of_refused(&mut self) {
        self.pages
            .command("# The bug: it was refused, and no lock was in its way any more.");
        Due::Untold.prepare(&mut self.pages, Detour::None);
        self.pages.command("--reap");
        Due::Untold.check(&mut self.pages, Detour::None);
        self.is_end_known = false;
        self.stop_comparing();
    }

    /// Runs what follows without comparing its answers.
    fn stop_comparing(&mut self) {
        if self.compared {
            self.compared = false;
            self.pages.stop_comparing();
        }
    }

    /// What stands behind the last step: the tables, once every client is gone, and their end.
    fn end(&mut self) -> Result<(), DoesNotApply> {
        let scenario = self.scenario;
        let pages = &mut self.pages;
        pages.blank();
        pages.go_to("default");
        pages.wait_until_gone(scenario.clients.keys().copied());
        if !self.compared {
            pages.compare_again();
        }
        for step in &scenario.afterwards {
            let is_compared = self.compared || (step.is_disputed() && self.is_end_known);
            let shown = by_hex(step, scenario).filter(|_| is_compared);
            let due = match is_compared && shown.is_none() {
                true => Due::of(step, scenario)?,
                false => Due::Untold,
            };
            take(pages, step, &due);
            if let Some(read) = shown {
                take(pages, &read, &Due::of(&read, scenario)?);
            }
        }
        for sql in drops(scenario) {
            pages.sql(&sql);
        }
        Ok(())
    }
}

fn detour(step: &ClientStep, may_be_refused: bool, scenario: &Scenario<'_>) -> Detour {
    let session = step.client.map(SessionId);
    match session.filter(|_| may_be_refused) {
        Some(session) => {
            let judged = StrongerLevel::of(session, scenario);
            match scenario.claims_more(session.0) && step.waits && !step.is_disputed() {
                true => Detour::WaitAtAnotherLevel(judged),
                false => Detour::LockInTheWay(judged),
            }
        }
        None if closes_deadlock(step, scenario) => Detour::OtherVictim,
        None => Detour::None,
    }
}

/// Says what the answer was where the bug was seen.
fn note_fault(pages: &mut Pages, step: &ClientStep, scenario: &Scenario<'_>) {
    if step.waits_wrongly() {
        let fault = words::fault(step, &scenario.dialect);
        pages.command(&format!("# The bug: the statement {fault}."));
    } else if let (true, Some(seen)) = (step.is_disputed(), &step.seen) {
        let seen = words::answer(seen, &scenario.dialect).replace('\n', " ");
        pages.command(&format!("# The bug: the answer was {seen}."));
    }
}

fn client(step: &ClientStep) -> String {
    step.client
        .map_or("default".to_owned(), |number| format!("c{number}"))
}

/// What stands before the first step: the clients, their settings, the tables.
fn head(pages: &mut Pages, scenario: &Scenario<'_>, may_be_skipped: bool) {
    pages.command(&format!(
        "# {}: {}",
        scenario.maintainers.product,
        words::synopsis(scenario).replace('\n', " ")
    ));
    if let Some(include) = scenario.maintainers.innodb_include {
        pages.command(&format!("--source {include}"));
    }
    let is_skipped = "wait that did not wait when the bug was\n# seen, the interleaving is another one, and the test is \
                      skipped.";
    if let Some(claim) = scenario.case.claim {
        pages.command(&format!(
            "# The answers are those of {claim}. Where that has a statement {is_skipped}"
        ));
    } else if may_be_skipped {
        pages.command(&format!("# Where an engine has a statement {is_skipped}"));
    }
    pages.command("--disable_connect_log");
    pages.command("--disable_warnings");
    for (index, (number, setup)) in scenario.clients.iter().enumerate() {
        pages.blank();
        pages.connect(&format!("c{number}"));
        for sql in setup {
            pages.sql(sql);
        }
        if may_be_skipped {
            pages.sql(&format!(
                "SET SESSION innodb_lock_wait_timeout = {LOCK_SECONDS}"
            ));
        }
        if index == 0 {
            pages.sql("SET SESSION default_storage_engine = InnoDB");
            for sql in scenario.setup() {
                pages.sql(sql);
            }
        }
    }
    pages.blank();
}

fn take(pages: &mut Pages, step: &ClientStep, due: &Due) {
    due.prepare(pages, Detour::None);
    pages.sql(&step.sql);
    due.check(pages, Detour::None);
}

/// The statements that take away what the test makes.
fn drops(scenario: &Scenario<'_>) -> Vec<String> {
    let both = [("VIEW", scenario.views()), ("TABLE", scenario.tables())];
    let made = both.into_iter().filter(|(_, names)| !names.is_empty());
    made.map(|(what, names)| format!("DROP {what} {}", names.join(", ")))
        .collect()
}
