//! A test for the engine's own suite: a `.test` for mysqltest and the `.result` of an engine that is
//! right.
//!
//! The result says what the case expects where it expects something, and what was seen elsewhere. What
//! follows a write that went wrong is run and not compared: on an engine that is right it differs.

mod due;
mod pages;
#[cfg(test)]
mod tests;

use super::case_format::{CaseFormat, DoesNotApply, Exported};
use super::client_step::ClientStep;
use super::plan::{Turn, plan};
use super::scenario::{Scenario, Symptom};
use super::words;
use crate::model::SessionId;
use crate::reproducer::CaseFile;
use due::{Detour, Due, closes_deadlock};
use pages::Pages;

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
    let mut pages = Pages::with_drops(drops(scenario));
    let turns = plan(scenario);
    let may_be_skipped = scenario.case.claim.is_some() || turns.iter().any(Turn::may_be_refused);
    head(&mut pages, scenario, may_be_skipped);
    let mut compared = true;
    for turn in turns {
        match turn {
            Turn::Disconnect(number) => pages.disconnect(&format!("c{number}")),
            Turn::Send { step, may_answer } => {
                pages.go_to(&client(step));
                note_fault(&mut pages, step, scenario);
                pages.send(&step.sql);
                // Behind a wrong answer another one may wait, and the wait that closes a deadlock is over at
                // once.
                let may_answer = may_answer || !compared || closes_deadlock(step, scenario);
                pages.wait(&client(step), may_answer, WAIT_SECONDS);
                // The others go on before it then, and their answers were seen behind it.
                if compared && step.waits_wrongly() {
                    compared = false;
                    pages.stop_comparing();
                }
            }
            Turn::StillWaits(step) => {
                pages.command(&format!("# The bug: {} went on here.", client(step)));
                pages.wait(&client(step), !compared, WAIT_SECONDS);
                if compared {
                    compared = false;
                    pages.stop_comparing();
                }
            }
            Turn::Run {
                step,
                may_be_refused,
            }
            | Turn::Reap {
                step,
                may_be_refused,
            } => {
                pages.go_to(&client(step));
                let (due, detour) = match compared {
                    true => (
                        Due::of(step, scenario)?,
                        detour(step, may_be_refused, scenario),
                    ),
                    false => (Due::Nothing, Detour::None),
                };
                let is_sent = matches!(turn, Turn::Reap { .. });
                if !is_sent {
                    note_fault(&mut pages, step, scenario);
                }
                due.prepare(&mut pages, detour);
                match is_sent {
                    true => pages.command("--reap"),
                    false => pages.sql(&step.sql),
                }
                due.check(&mut pages, detour);
                if compared && step.spoils_what_follows() {
                    compared = false;
                    pages.stop_comparing();
                }
            }
        }
    }
    end(&mut pages, scenario, compared)?;
    Ok(pages)
}

fn detour(step: &ClientStep, may_be_refused: bool, scenario: &Scenario<'_>) -> Detour {
    let session = step.client.map(SessionId);
    match session.filter(|_| may_be_refused) {
        Some(session) => Detour::LockInTheWay(scenario.case.judged_level(session)),
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

/// What stands behind the last step: the tables, once every client is gone, and their end.
fn end(pages: &mut Pages, scenario: &Scenario<'_>, compared: bool) -> Result<(), DoesNotApply> {
    pages.blank();
    pages.go_to("default");
    pages.wait_until_gone(scenario.clients.keys().copied());
    if !compared {
        pages.compare_again();
    }
    for step in &scenario.afterwards {
        let due = match compared || step.is_disputed() {
            true => Due::of(step, scenario)?,
            false => Due::Untold,
        };
        due.prepare(pages, Detour::None);
        pages.sql(&step.sql);
        due.check(pages, Detour::None);
    }
    for sql in drops(scenario) {
        pages.sql(&sql);
    }
    Ok(())
}

/// The statements that take away what the test makes.
fn drops(scenario: &Scenario<'_>) -> Vec<String> {
    let both = [("VIEW", scenario.views()), ("TABLE", scenario.tables())];
    let made = both.into_iter().filter(|(_, names)| !names.is_empty());
    made.map(|(what, names)| format!("DROP {what} {}", names.join(", ")))
        .collect()
}
