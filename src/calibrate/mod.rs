//! Every read mode of a dialect, proved on a live server.
//!
//! Scripted sessions of two decide each entry of the dialect file from data. Where the server does
//! otherwise, the file is wrong for it, and every oracle that trusts the file would be.

mod modes;
mod moments;
mod stage;
mod variant;

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};

use self::stage::Stage;
use self::variant::VARIANTS;
use crate::dialect::{Capability, Dialect};
use crate::engine::{EngineError, Server};
use crate::model::IsolationLevel;

/// Whether an entry of the file holds on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    Right,
    Wrong,
    /// The engine has no such statement, or its answer tells nothing.
    DoesNotApply(String),
}

/// One entry, and what the server did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key in the dialect file: `read-modes.repeatable-read.update-source`.
    pub subject: String,
    /// Which of several statements of that kind.
    pub form: String,
    /// What the file says.
    pub claimed: String,
    /// What the server does.
    pub measured: String,
    pub judgement: Judgement,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match &self.judgement {
            Judgement::Right => "ok",
            Judgement::Wrong => "WRONG",
            Judgement::DoesNotApply(_) => "n/a",
        };
        write!(f, "{word:<5}  {}  [{}]", self.subject, self.form)?;
        if !self.claimed.is_empty() {
            write!(f, "  file: {}", self.claimed)?;
        }
        if !self.measured.is_empty() {
            write!(f, "  server: {}", self.measured)?;
        }
        if let Judgement::DoesNotApply(reason) = &self.judgement {
            write!(f, "  ({reason})")?;
        }
        Ok(())
    }
}

/// What a calibration found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CalibrationReport {
    pub entries: Vec<Entry>,
}

impl CalibrationReport {
    /// The file is right about this server.
    pub fn is_right(&self) -> bool {
        self.wrong().next().is_none()
    }

    /// The entries that do not hold.
    pub fn wrong(&self) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .filter(|entry| entry.judgement == Judgement::Wrong)
    }

    /// How many entries were proved right, proved wrong, and do not apply.
    pub fn counts(&self) -> (usize, usize, usize) {
        let wrong = self.wrong().count();
        let idle = self
            .entries
            .iter()
            .filter(|entry| matches!(entry.judgement, Judgement::DoesNotApply(_)))
            .count();
        (self.entries.len() - wrong - idle, wrong, idle)
    }
}

/// Probes every entry of the server's dialect, in a database of its own. Writes a line for each.
///
/// # Errors
/// When the server gives no answer, or rejects a statement of the script. What cannot be written
/// to `out` is left out: the report has it all.
pub fn run(server: &dyn Server, out: &mut dyn Write) -> Result<CalibrationReport, EngineError> {
    crate::engine::require_cases(server)?;
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let database = format!("rashomon_calibrate_{}_{number}", std::process::id());
    let mut stage = Stage::set_up(server, &database)?;
    let mut report = CalibrationReport::default();
    let result = probe_all(&mut stage, &mut |entry| {
        // The lines are for people who watch; the report is what counts.
        let _ = writeln!(out, "{entry}");
        report.entries.push(entry);
    });
    let struck = stage.strike();
    result?;
    struck?;
    Ok(report)
}

fn probe_all(stage: &mut Stage<'_>, note: &mut dyn FnMut(Entry)) -> Result<(), EngineError> {
    let levels = stage.server.dialect().levels.clone();
    for level in levels {
        stage.reset()?;
        // The other session only writes by key and commits: its level is of no consequence, but a
        // plain read of its own must not add locks.
        let quiet = IsolationLevel::ReadCommitted;
        let supported = stage.server.dialect().levels.contains(&quiet);
        stage.levels(level, if supported { quiet } else { level })?;
        for form in VARIANTS.iter().copied().flatten() {
            for explicit in [true, false] {
                let dialect = stage.server.dialect();
                if let Some(missing) = form.needs.iter().find(|need| !dialect.supports(**need)) {
                    if explicit {
                        note(no_such_statement(dialect, level, form, *missing));
                    }
                    continue;
                }
                note(modes::probe(stage, level, form, explicit)?);
            }
        }
        moments::probe(stage, level, note)?;
    }
    stage.reset()
}

fn no_such_statement(
    dialect: &Dialect,
    level: IsolationLevel,
    form: &variant::Variant,
    missing: Capability,
) -> Entry {
    Entry {
        subject: format!("read-modes.{}.{}", level.slug(), form.role),
        form: form.form.to_owned(),
        claimed: dialect.read_mode(level, form.role, true).slug().to_owned(),
        measured: String::new(),
        judgement: Judgement::DoesNotApply(format!("the dialect has no {missing}")),
    }
}
