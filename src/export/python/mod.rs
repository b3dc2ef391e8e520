//! A Python script that runs the case with the product's usual driver and says whether the bug shows.
//!
//! The parts that are the same for every case stand beside this file, as Python.

use std::fmt::Write as _;

use super::case_format::{CaseFormat, DoesNotApply, Exported};
use super::client_step::ClientStep;
use super::maintainers::ScriptDriver;
use super::scenario::{Scenario, Symptom};
use super::words;
use crate::model::{ErrorClass, RowOrder};
use crate::reproducer::{CaseFile, Cell, Expectation, quoted};

const ANSWERS: &str = include_str!("answers.py");
const MYSQL_PROTOCOL: &str = include_str!("mysql_protocol.py");
const POSTGRES: &str = include_str!("postgres.py");
/// What is the same for every server.
const SERVER: &str = include_str!("server.py");
const SQLITE: &str = include_str!("sqlite.py");
const VERDICT: &str = include_str!("verdict.py");

/// A statement that has no answer and waits for no lock after this many seconds hangs.
const HANGS_AFTER_SECONDS: u32 = 60;

/// The database that the script makes and drops; the number of its process follows.
const DATABASE: &str = "bug_to_repeat";

pub(super) struct Python;

impl CaseFormat for Python {
    fn name(&self) -> &'static str {
        "python"
    }

    fn about(&self) -> &'static str {
        "a Python script that runs the clients, compares their answers and says whether the bug shows"
    }

    fn extension(&self) -> &'static str {
        "py"
    }

    fn write(&self, file: &CaseFile) -> Result<Exported, DoesNotApply> {
        let scenario = Scenario::of_fault(file)?;
        match scenario.maintainers.driver {
            Ok(driver) => Ok(Exported::of(script(&scenario, driver))),
            Err(reason) => Err(DoesNotApply(reason.to_owned())),
        }
    }
}

/// The script of a scenario.
pub(super) fn script(scenario: &Scenario<'_>, driver: ScriptDriver) -> String {
    let of_servers = "import argparse\nimport decimal\nimport os\nimport queue\nimport sys\nimport threading\nimport time\n\n";
    let (imports, texts) = match driver {
        ScriptDriver::MySqlProtocol => (
            format!("{of_servers}import pymysql\n"),
            vec![MYSQL_PROTOCOL, SERVER],
        ),
        ScriptDriver::Postgres => (
            format!("{of_servers}import psycopg2\nimport psycopg2.extensions\n"),
            vec![POSTGRES, SERVER],
        ),
        ScriptDriver::Sqlite => (
            "import argparse\nimport decimal\nimport sqlite3\nimport sys\nimport tempfile\n"
                .to_owned(),
            vec![SQLITE],
        ),
    };
    // The data is made of answers, and what runs it comes last.
    let head = format!(
        "#!/usr/bin/env python3\n{}\n{imports}",
        about(scenario, driver)
    );
    let data = data(scenario, driver);
    let mut parts = vec![head.as_str(), ANSWERS, &data];
    parts.extend(texts);
    parts.push(VERDICT);
    parts.join("\n\n")
}

/// The docstring.
fn about(scenario: &Scenario<'_>, driver: ScriptDriver) -> String {
    let product = scenario.maintainers.product;
    let mut text = format!("{product}: {}.\n", words::synopsis(scenario));
    let versions = scenario.versions();
    if !versions.is_empty() {
        let _ = write!(text, "\nSeen on {versions}.\n");
    }
    match driver {
        ScriptDriver::MySqlProtocol | ScriptDriver::Postgres => {
            let library = match driver {
                ScriptDriver::Postgres => {
                    "psycopg2 (pip install psycopg2-binary, or Debian's python3-psycopg2)"
                }
                ScriptDriver::MySqlProtocol | ScriptDriver::Sqlite => {
                    "PyMySQL (pip install pymysql, or Debian's python3-pymysql)"
                }
            };
            let _ = write!(
                text,
                "\nNeeds {library} and an account that may \
                 create\ndatabases. Makes a database {DATABASE}_<process>, and drops it at the end.\n"
            );
        }
        ScriptDriver::Sqlite => {
            text.push_str("\nNeeds nothing but Python. Uses a temporary file.\n")
        }
    }
    text.push_str(
        "\nPrints every statement with its answer. Exits with 1 if the bug shows, with 0 if it does not, and\n\
         with 2 if the case could not be run, also where the server has no such statement.\n",
    );
    // A docstring ends at three quotes, and a backslash escapes in it.
    let text = text.replace('\\', "\\\\").replace("\"\"\"", "'''");
    format!("\"\"\"{text}\"\"\"\n")
}

fn data(scenario: &Scenario<'_>, driver: ScriptDriver) -> String {
    let symptom = match scenario.symptom {
        Symptom::WrongAnswer | Symptom::NothingWrong => "wrong answer",
        Symptom::AsSeen => "as seen",
        Symptom::Crash => "crash",
        Symptom::Hang => "hang",
    };
    let mut text = format!(
        "# How the bug shows: \"wrong answer\", \"as seen\" (all answers are those that were seen), \"crash\", \
         \"hang\".\nSHOWS = \"{symptom}\"\nRUNS = {}\n",
        scenario.runs()
    );
    let _ = write!(
        text,
        "\n# The codes by which a server says that a statement is not of its language.\nNOT_KNOWN = [{}]\n",
        not_known(scenario, driver).join(", ")
    );
    if driver != ScriptDriver::Sqlite {
        let _ = write!(
            text,
            "HANGS_AFTER_SECONDS = {HANGS_AFTER_SECONDS}\nDATABASE = \"{DATABASE}_%d\" % os.getpid()\n\
             PORT = {}\n\n# A row where this connection waits for a lock.\nWAITS = {}\n# Ends a connection.\nKILL = {}\n",
            scenario.maintainers.port,
            quoted(scenario.maintainers.waits),
            quoted(scenario.maintainers.kill),
        );
    }
    let setup: Vec<String> = scenario.setup().map(quoted).collect();
    let _ = write!(text, "\nSETUP = {}\n", list(&setup, ""));
    text.push_str("\n# What each client executes first.\nCLIENTS = {\n");
    for (client, setup) in &scenario.clients {
        let setup: Vec<String> = setup.iter().map(|sql| quoted(sql)).collect();
        let _ = writeln!(text, "    {client}: {},", list(&setup, "    "));
    }
    text.push_str(
        "}\n\n# Client, statement, the answer that was seen, the answers that are right, whether the bug cannot show without \
         the one that was seen.\n",
    );
    let steps = scenario.steps.iter().map(|step| {
        let client = step.client.unwrap_or_default();
        format!("({client}, {})", step_text(step, scenario, driver))
    });
    let _ = writeln!(text, "STEPS = {}", list(&steps.collect::<Vec<_>>(), ""));
    let afterwards = scenario.afterwards.iter();
    let afterwards = afterwards.map(|step| match step_text(step, scenario, driver) {
        text if step.seen.is_none() && step.right.is_empty() => format!("({text},)"),
        text => format!("({text})"),
    });
    let _ = write!(
        text,
        "\n# After every client has ended.\nAFTERWARDS = {}\n",
        list(&afterwards.collect::<Vec<_>>(), "")
    );
    text
}

/// The error codes of an engine or version that has no such statement, which proves nothing of the bug.
fn not_known(scenario: &Scenario<'_>, driver: ScriptDriver) -> Vec<String> {
    let classes = [ErrorClass::Syntax, ErrorClass::Unsupported];
    let codes = classes.map(|class| codes(scenario, driver, class));
    codes.concat()
}

/// The error codes of a class as the driver gives them: numbers, or the texts of SQLSTATE.
fn codes(scenario: &Scenario<'_>, driver: ScriptDriver, class: ErrorClass) -> Vec<String> {
    let codes = scenario.dialect.error_codes(class).into_iter();
    match driver {
        ScriptDriver::Postgres => codes.map(quoted).collect(),
        ScriptDriver::MySqlProtocol | ScriptDriver::Sqlite => codes.map(str::to_owned).collect(),
    }
}

/// A list, each item on a line of its own.
fn list(items: &[String], indent: &str) -> String {
    if items.is_empty() {
        return "[]".to_owned();
    }
    let lines: String = items
        .iter()
        .map(|item| format!("{indent}    {item},\n"))
        .collect();
    format!("[\n{lines}{indent}]")
}

/// The statement of a step with its answers.
fn step_text(step: &ClientStep, scenario: &Scenario<'_>, driver: ScriptDriver) -> String {
    let expression = |expected: &Expectation| answer(expected, step, scenario, driver);
    let mut text = quoted(&step.sql);
    let right: Vec<String> = step.right.iter().map(expression).collect();
    match &step.seen {
        Some(seen) => text.push_str(&format!(", {}", expression(seen))),
        None if !right.is_empty() => text.push_str(", None"),
        None => {}
    }
    match (right.is_empty(), step.is_decisive) {
        (true, false) => {}
        (false, false) => text.push_str(&format!(", [{}]", right.join(", "))),
        (_, true) => text.push_str(&format!(", [{}], True", right.join(", "))),
    }
    text
}

/// An answer as the script's own functions make it.
fn answer(
    answer: &Expectation,
    step: &ClientStep,
    scenario: &Scenario<'_>,
    driver: ScriptDriver,
) -> String {
    match answer {
        Expectation::Rows(rows) => {
            let rows: Vec<String> = rows.iter().map(|row| tuple(row)).collect();
            let function = match step.effect.row_order {
                RowOrder::Total => "rows_in_order",
                RowOrder::Unordered => "rows",
            };
            format!("{function}({})", rows.join(", "))
        }
        Expectation::Affected(count) => format!("changed({count})"),
        Expectation::Error(class) => {
            let codes = codes(scenario, driver, *class);
            let words = quoted(words::error_words(*class));
            let codes: String = codes.iter().map(|code| format!(", {code}")).collect();
            format!("error({words}{codes})")
        }
        Expectation::Accepted => "Accepted()".to_owned(),
        Expectation::Waits => "Waits(True)".to_owned(),
        Expectation::DoesNotWait => "Waits(False)".to_owned(),
    }
}

fn tuple(row: &[Cell]) -> String {
    let cells: Vec<String> = row.iter().map(cell).collect();
    match cells.as_slice() {
        [cell] => format!("({cell},)"),
        cells => format!("({})", cells.join(", ")),
    }
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Null => "None".to_owned(),
        Cell::Number(number) => {
            let digits = number.strip_prefix('-').unwrap_or(number);
            let is_plain = digits == "0" || !digits.starts_with('0');
            match is_plain && digits.bytes().all(|b| b.is_ascii_digit()) {
                true => number.clone(),
                false => format!("decimal.Decimal({})", quoted(number)),
            }
        }
        Cell::Text(text) => quoted(text),
        Cell::Bytes(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect();
            format!("b\"{digits}\"")
        }
    }
}
