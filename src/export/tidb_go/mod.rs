//! A Go test for TiDB's own suite: sessions of its testkit on the store that its unit tests use.
//!
//! The test passes on a TiDB that is right. Statements are written as TiDB's tests have them, by `MustExec` and
//! `MustQuery`; what these cannot tell (a wait, several right answers, numbers that are printed in another way)
//! goes through the functions beside this file, which a test has only where it calls them.

mod literals;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::case_format::{CaseFormat, DoesNotApply, Exported};
use super::client_step::ClientStep;
use super::plan::{Turn, plan};
use super::scenario::{Scenario, Symptom};
use super::words;
use crate::model::{RowOrder, StatementKind};
use crate::reproducer::{CaseFile, Expectation};
use literals::{cells_of, plain_rows, text_of};

/// What runs a statement beside others and compares any answer.
const REPLIES: &str = include_str!("replies.go");

/// For a test of statements alone. Go refuses an import that is not used: [`REQUIRE`] stands behind these where
/// a count is compared.
const PLAIN_IMPORTS: &[&str] = &["\"testing\"", "", TESTKIT];

const IMPORTS_OF_REPLIES: &[&str] = &[
    "\"context\"",
    "\"fmt\"",
    "\"math/big\"",
    "\"slices\"",
    "\"testing\"",
    "\"time\"",
    "",
    "\"github.com/pingcap/errors\"",
    "\"github.com/pingcap/tidb/pkg/parser/terror\"",
    "\"github.com/pingcap/tidb/pkg/session\"",
    TESTKIT,
    REQUIRE,
];

const TESTKIT: &str = "\"github.com/pingcap/tidb/pkg/testkit\"";
const REQUIRE: &str = "\"github.com/stretchr/testify/require\"";

pub(super) struct TidbGo;

impl CaseFormat for TidbGo {
    fn name(&self) -> &'static str {
        "tidb-go"
    }

    fn about(&self) -> &'static str {
        "a Go test for TiDB's testkit"
    }

    fn extension(&self) -> &'static str {
        "go"
    }

    fn write(&self, file: &CaseFile) -> Result<Exported, DoesNotApply> {
        let scenario = Scenario::of(file)?;
        if !scenario.maintainers.has_testkit {
            return Err(DoesNotApply(format!(
                "testkit runs tests of TiDB, not of {}",
                scenario.maintainers.product
            )));
        }
        if scenario.symptom == Symptom::AsSeen {
            return Err(DoesNotApply(
                "no answer is wrong alone, and a test of this format compares each answer alone"
                    .to_owned(),
            ));
        }
        Ok(Exported {
            text: test(&scenario),
            beside: None,
            remark: Some(
                "go test runs files that end in _test.go only: the comment at its top says where to \
                 put it"
                    .to_owned(),
            ),
        })
    }
}

fn test(scenario: &Scenario<'_>) -> String {
    let mut body = Body::new(scenario);
    body.head();
    for turn in plan(scenario) {
        body.turn(&turn);
    }
    body.end();
    let mut text = about(scenario);
    text.push_str("package bugtorepeat\n\nimport (\n");
    let (imports, more): (_, &[&str]) = match body.has_replies {
        true => (IMPORTS_OF_REPLIES, &[]),
        false if body.has_counts => (PLAIN_IMPORTS, &[REQUIRE]),
        false => (PLAIN_IMPORTS, &[]),
    };
    for import in imports.iter().chain(more) {
        let tab = if import.is_empty() { "" } else { "\t" };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{tab}{import}");
    }
    let _ = write!(
        text,
        ")\n\nfunc TestBugToRepeat(t *testing.T) {{\n{}}}\n",
        body.text
    );
    if body.has_replies {
        let _ = write!(text, "\n{REPLIES}");
    }
    text
}

/// What the test shows, and how it is run.
fn about(scenario: &Scenario<'_>) -> String {
    let product = scenario.maintainers.product;
    let synopsis = one_line(&words::synopsis(scenario));
    let mut text = format!("// {product}: {synopsis}\n");
    let versions = scenario.versions();
    if !versions.is_empty() {
        let _ = writeln!(text, "// Seen on {versions}.");
    }
    let count = match scenario.runs() {
        1 => String::new(),
        runs => format!(" -count={runs}"),
    };
    let _ = writeln!(
        text,
        "//\n// Put it into TiDB's source as pkg/session/test/bugtorepeat/bug_test.go. It fails while the bug is there:\n\
         //\n//\tgo test -tags=intest{count} ./pkg/session/test/bugtorepeat\n"
    );
    text
}

/// The statements of the test.
struct Body<'s> {
    scenario: &'s Scenario<'s>,
    text: String,
    /// A function of [`REPLIES`] is called.
    has_replies: bool,
    /// A number of changed rows is compared.
    has_counts: bool,
    /// Behind a write that went wrong: answers that the case does not expect are not known.
    is_open: bool,
    /// The clients with an open transaction.
    in_transaction: BTreeSet<u32>,
}

impl<'s> Body<'s> {
    fn new(scenario: &'s Scenario<'s>) -> Self {
        Self {
            scenario,
            text: String::new(),
            has_replies: false,
            has_counts: false,
            is_open: false,
            in_transaction: BTreeSet::new(),
        }
    }

    fn line(&mut self, line: &str) {
        // A line of nothing has no tab.
        let tab = if line.is_empty() { "" } else { "\t" };
        let _ = writeln!(self.text, "{tab}{line}");
    }

    /// What stands before the first step: the store, the tables, the sessions with their settings.
    fn head(&mut self) {
        self.line("store := testkit.CreateMockStore(t)");
        self.session("tk");
        // The settings of a session say what its statements mean: the tables are made under them, too.
        let first = self.scenario.clients.values().next();
        for sql in first.into_iter().flatten() {
            self.exec("tk", sql);
        }
        let setup: Vec<&str> = self.scenario.setup().collect();
        for sql in setup {
            self.exec("tk", sql);
        }
        for (number, setup) in &self.scenario.clients {
            self.line("");
            self.session(&format!("tk{number}"));
            for sql in setup {
                self.exec(&format!("tk{number}"), sql);
            }
        }
        self.line("");
    }

    fn session(&mut self, name: &str) {
        self.line(&format!("{name} := testkit.NewTestKit(t, store)"));
        self.exec(name, "use test");
    }

    fn exec(&mut self, session: &str, sql: &str) {
        self.line(&format!("{session}.MustExec({})", text_of(sql)));
    }

    fn turn(&mut self, turn: &Turn<'_>) {
        match turn {
            Turn::Run { step, .. } => {
                self.remark(step);
                let must_not_wait = step.right.contains(&Expectation::DoesNotWait);
                if must_not_wait || self.may_hang(step) {
                    self.send(step);
                    if must_not_wait {
                        self.watch(step, "require.False");
                    }
                    self.receive(step);
                } else {
                    self.step(step);
                }
            }
            Turn::Send {
                step, may_answer, ..
            } => {
                self.remark(step);
                self.send(step);
                self.watch(step, if *may_answer { "" } else { "require.True" });
            }
            Turn::StillWaits(step) => self.watch(step, "require.True"),
            Turn::Reap { step, .. } => self.receive(step),
            // A session that is closed rolls back.
            Turn::Disconnect(number) => {
                if self.in_transaction.remove(number) {
                    self.exec(&format!("tk{number}"), "rollback");
                }
            }
        }
    }

    /// Whether this may be the statement of the case that has no answer at all.
    fn may_hang(&self, step: &ClientStep) -> bool {
        let kind = step.effect.kind;
        let is_candidate = step.seen.is_none() && !kind.is_begin() && !kind.is_end();
        is_candidate && self.scenario.symptom == Symptom::Hang
    }

    /// The reads behind the last client.
    fn end(&mut self) {
        if !self.scenario.afterwards.is_empty() {
            self.line("");
        }
        for step in &self.scenario.afterwards {
            self.remark(step);
            self.step(step);
        }
    }

    /// Says what the answer was where the bug was seen.
    fn remark(&mut self, step: &ClientStep) {
        if step.waits_wrongly() {
            let fault = words::fault(step, &self.scenario.dialect);
            self.line(&format!("// The bug: the statement {fault}."));
        } else if let (true, Some(seen)) = (step.is_disputed(), &step.seen) {
            let seen = one_line(&words::answer(seen, &self.scenario.dialect));
            self.line(&format!("// The bug: the answer was {seen}."));
        }
    }

    /// A statement that is sent and answered later.
    fn send(&mut self, step: &ClientStep) {
        self.has_replies = true;
        let (session, answered) = (session(step), answered(step));
        let sql = text_of(&step.sql);
        self.line(&format!("{answered} := send({session}, {sql})"));
    }

    /// Goes on when the statement waits or is answered. `demand`: the function that says which it must be.
    fn watch(&mut self, step: &ClientStep, demand: &str) {
        let call = format!("waits(t, tk, {}, {})", session(step), answered(step));
        self.line(&match demand {
            "" => call,
            demand => format!("{demand}(t, {call}, \"whether the statement waits for a lock\")"),
        });
    }

    fn receive(&mut self, step: &ClientStep) {
        let reply = format!("receive(t, {})", answered(step));
        let due = self.due(step);
        self.compare(&reply, &due, step);
        self.after(step);
    }

    /// A statement that is answered before the next one is sent.
    fn step(&mut self, step: &ClientStep) {
        let due = self.due(step);
        if !self.plain(step, &due) {
            let reply = format!("execute({}, {})", session(step), text_of(&step.sql));
            self.compare(&reply, &due, step);
        }
        self.after(step);
    }

    /// The answers that are right; none where they are not known.
    fn due<'e>(&self, step: &'e ClientStep) -> Vec<&'e Expectation> {
        let about_answers = |answer: &&Expectation| !answer.is_about_waiting();
        let right: Vec<&Expectation> = step.right.iter().filter(about_answers).collect();
        match right.is_empty() && !self.is_open && !step.waits_wrongly() {
            true => step.seen.iter().filter(about_answers).collect(),
            false => right,
        }
    }

    /// Writes the statement as TiDB's own tests do, where they can tell its answer.
    fn plain(&mut self, step: &ClientStep, due: &[&Expectation]) -> bool {
        let (session, sql) = (session(step), text_of(&step.sql));
        let query = format!("{session}.MustQuery({sql})");
        match due {
            [] if self.is_open => return false,
            [] | [Expectation::Accepted] if returns_rows(step) => self.line(&query),
            [] | [Expectation::Accepted] => self.exec(&session, &step.sql),
            [Expectation::Rows(rows)] => {
                let sorted = step.effect.row_order == RowOrder::Unordered && rows.len() > 1;
                let Some(rows) = plain_rows(rows, sorted) else {
                    return false;
                };
                let sort = if sorted { ".Sort()" } else { "" };
                self.line(&format!("{query}{sort}.Check({rows})"));
            }
            [Expectation::Affected(count)] if !returns_rows(step) => {
                self.has_counts = true;
                self.exec(&session, &step.sql);
                self.line(&format!(
                    "require.Equal(t, uint64({count}), {session}.Session().AffectedRows())"
                ));
            }
            [Expectation::Error(class)] if !returns_rows(step) => {
                let [code] = self.scenario.dialect.error_codes(*class)[..] else {
                    return false;
                };
                self.line(&format!("{session}.MustGetErrCode({sql}, {code})"));
            }
            _ => return false,
        }
        true
    }

    /// Compares an answer with those that are right; with none it is only taken.
    fn compare(&mut self, reply: &str, due: &[&Expectation], step: &ClientStep) {
        self.has_replies = true;
        if due.is_empty() {
            match self.is_open {
                true => self.line(reply),
                false => self.line(&format!("check(t, {reply}, accepted)")),
            }
            return;
        }
        let due: Vec<String> = due.iter().map(|one| self.answer(one, step)).collect();
        self.line(&format!("check(t, {reply}, {})", due.join(", ")));
    }

    /// An answer as the functions of [`REPLIES`] compare it.
    fn answer(&self, answer: &Expectation, step: &ClientStep) -> String {
        match answer {
            Expectation::Rows(rows) => {
                let function = match step.effect.row_order {
                    RowOrder::Total => "rowsInOrder",
                    RowOrder::Unordered => "rows",
                };
                let rows: Vec<String> = rows.iter().map(|row| cells_of(row)).collect();
                format!("{function}({})", rows.join(", "))
            }
            Expectation::Affected(count) => format!("changed({count})"),
            Expectation::Error(class) => {
                let codes = self.scenario.dialect.error_codes(*class);
                format!("failure({})", codes.join(", "))
            }
            Expectation::Accepted | Expectation::Waits | Expectation::DoesNotWait => {
                "accepted".to_owned()
            }
        }
    }

    fn after(&mut self, step: &ClientStep) {
        let kind = step.effect.kind;
        if let Some(client) = step.client {
            if kind.is_begin() {
                self.in_transaction.insert(client);
            } else if step.ends_transaction() {
                self.in_transaction.remove(&client);
            }
        }
        self.is_open |= step.spoils_what_follows();
    }
}

/// The session that executes a step; `tk` made the tables and reads them at the end.
fn session(step: &ClientStep) -> String {
    step.client
        .map_or("tk".to_owned(), |number| format!("tk{number}"))
}

/// The variable that takes the answer of a statement that was sent.
fn answered(step: &ClientStep) -> String {
    step.id.map_or("answered".to_owned(), |id| {
        format!("answered{}x{}", id.transaction.0, id.position)
    })
}

/// Whether a step is answered by rows.
fn returns_rows(step: &ClientStep) -> bool {
    matches!(
        step.effect.kind,
        StatementKind::Select | StatementKind::LockingSelect
    )
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
