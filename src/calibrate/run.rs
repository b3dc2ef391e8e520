//! The probes of a whole dialect, one after another.

use std::sync::atomic::{AtomicU32, Ordering};

use super::absent_keys;
use super::counters;
use super::duplicates;
use super::endings::{self, Ending};
use super::entry::{CalibratedEntry, CalibrationReport, PROBES_OF_A_WRONG_ENTRY, Proof};
use super::keeping;
use super::listener::CalibrationListener;
use super::modes;
use super::moments;
use super::stage::{Halt, Stage, UNSEEN};
use super::variant::{VARIANTS, Variant};
use super::{collations, plan_settings, table_locks};
use crate::dialect::Dialect;
use crate::engine::{EngineError, Server, require_cases};
use crate::model::IsolationLevel;

/// Why a calibration has no report. Its database is dropped either way, unless the server is lost.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The server gave no answer, and its database could not be dropped.
    #[error("{error}")]
    Left {
        #[source]
        error: EngineError,
        database: String,
    },
    /// It was asked to stop.
    #[error("the calibration was interrupted: nothing is known of the entries that were left")]
    Interrupted,
}

/// Probes every entry of the server's dialect, in a database of its own.
///
/// # Errors
/// When the server gives no answer, rejects a statement of the script, or the listener stops it.
pub fn run(
    server: &dyn Server,
    listener: &mut dyn CalibrationListener,
) -> Result<CalibrationReport, CalibrationError> {
    require_cases(server)?;
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let database = format!("rashomon_calibrate_{}_{number}", std::process::id());
    server.create_database(&database)?;
    let result = probe_in(server, &database, listener);
    let dropped = server.drop_database(&database);
    match (result, dropped) {
        (Ok(report), Ok(())) => Ok(report),
        (Ok(_), Err(error)) | (Err(CalibrationError::Engine(error)), Err(_)) => {
            // Why the calibration ended matters more than that its database could not be dropped then.
            Err(CalibrationError::Left { error, database })
        }
        (Err(error), _) => Err(error),
    }
}

/// Probes everything in this database, and leaves no connection to it open.
fn probe_in(
    server: &dyn Server,
    database: &str,
    listener: &mut dyn CalibrationListener,
) -> Result<CalibrationReport, CalibrationError> {
    let mut stage = Stage::set_up(server, database, listener)?;
    let mut report = CalibrationReport::default();
    let result = probe_all(&mut stage, &mut report);
    stage.strike();
    match result {
        Ok(()) => Ok(report),
        Err(Halt::Interrupted) => Err(CalibrationError::Interrupted),
        Err(Halt::Engine(error)) => Err(error.into()),
        // `prove` says it of its entry; what is asked beside the entries has none.
        Err(Halt::Unseen(sql)) => Err(EngineError::Hang {
            sql,
            seconds: UNSEEN.as_secs(),
        }
        .into()),
    }
}

fn probe_all(stage: &mut Stage<'_>, report: &mut CalibrationReport) -> Result<(), Halt> {
    let dialect = stage.server.dialect();
    let entries = &mut report.entries;
    for level in dialect.levels.iter().copied() {
        stage.reset()?;
        // The other session only writes by key and commits: its level is of no consequence, but a
        // plain read of its own must not add locks.
        let quiet = IsolationLevel::ReadCommitted;
        let supported = dialect.levels.contains(&quiet);
        stage.levels(level, if supported { quiet } else { level })?;
        for form in VARIANTS.iter().copied().flatten() {
            if let Some(missing) = form.needs.iter().find(|need| !dialect.supports(**need)) {
                entries.push(no_such_statement(dialect, level, form, missing.slug()));
                continue;
            }
            if let Some(clause) = form.unspelled_clause(dialect) {
                let missing = format!("lock clause {clause}");
                entries.push(no_such_statement(dialect, level, form, &missing));
                continue;
            }
            for explicit in [true, false] {
                prove(
                    stage,
                    entries,
                    (level, form.role.slug()),
                    &mut |stage: &mut Stage<'_>| modes::probe(stage, level, form, explicit),
                )?;
            }
        }
        for moment in moments::at(dialect, stage.server.waits(), level) {
            prove(
                stage,
                entries,
                (level, moment.key()),
                &mut |stage: &mut Stage<'_>| moment.probe(stage, level),
            )?;
        }
        for lookup in absent_keys::of(dialect) {
            prove(
                stage,
                entries,
                (level, absent_keys::KEY),
                &mut |stage: &mut Stage<'_>| absent_keys::probe(stage, level, lookup),
            )?;
        }
        for insert in duplicates::of(dialect) {
            prove(
                stage,
                entries,
                (level, duplicates::KEY),
                &mut |stage: &mut Stage<'_>| duplicates::probe(stage, level, *insert),
            )?;
        }
        for kept in keeping::at(dialect, level) {
            prove(
                stage,
                entries,
                (level, keeping::Keeping::key()),
                &mut |stage: &mut Stage<'_>| kept.probe(stage, level),
            )?;
        }
    }
    stage.reset()?;
    probe_table_locks(stage, entries)?;
    probe_endings(stage, entries)?;
    probe_counters(stage, entries)?;
    probe_plan_settings(stage, entries)
}

/// Probes collations, modes and the settings of the optimizer, last: the session keeps them.
fn probe_plan_settings(
    stage: &mut Stage<'_>,
    entries: &mut Vec<CalibratedEntry>,
) -> Result<(), Halt> {
    let dialect = stage.server.dialect();
    let Some(level) = dialect.levels.first().copied() else {
        return Ok(());
    };
    for (name, folding) in &dialect.collations {
        prove(
            stage,
            entries,
            (level, collations::COLLATION),
            &mut |stage: &mut Stage<'_>| collations::probe(stage, name, *folding),
        )?;
    }
    for value in dialect.session_mode.iter().flat_map(|mode| &mode.others) {
        prove(
            stage,
            entries,
            (level, collations::MODE),
            &mut |stage: &mut Stage<'_>| collations::probe_mode(stage, value),
        )?;
    }
    for setting in plan_settings::of(dialect) {
        prove(
            stage,
            entries,
            (level, plan_settings::KEY),
            &mut |stage: &mut Stage<'_>| plan_settings::probe(stage, setting),
        )?;
    }
    Ok(())
}

/// Probes what counters promise: no level has a part in it.
fn probe_counters(stage: &mut Stage<'_>, entries: &mut Vec<CalibratedEntry>) -> Result<(), Halt> {
    let dialect = stage.server.dialect();
    let Some(level) = dialect.levels.first().copied() else {
        return Ok(());
    };
    for fact in counters::of(dialect) {
        prove(
            stage,
            entries,
            (level, fact.key()),
            &mut |stage: &mut Stage<'_>| fact.probe(stage),
        )?;
    }
    Ok(())
}

/// Probes locks of whole tables, which no level has a part in but where it says when a snapshot is taken.
fn probe_table_locks(
    stage: &mut Stage<'_>,
    entries: &mut Vec<CalibratedEntry>,
) -> Result<(), Halt> {
    let dialect = stage.server.dialect();
    let Some(level) = dialect.levels.first().copied() else {
        return Ok(());
    };
    stage.levels(level, level)?;
    for fact in table_locks::of(dialect) {
        prove(
            stage,
            entries,
            (level, fact.key()),
            &mut |stage: &mut Stage<'_>| fact.probe(stage),
        )?;
    }
    stage.reset()?;
    Ok(())
}

/// Probes which rejections end their transaction: at one level, for none of them depends on it.
fn probe_endings(stage: &mut Stage<'_>, entries: &mut Vec<CalibratedEntry>) -> Result<(), Halt> {
    let dialect = stage.server.dialect();
    let Some(level) = endings::level(dialect) else {
        return Ok(());
    };
    stage.levels(level, level)?;
    for ending in endings::of(dialect, stage.server.waits()) {
        prove(
            stage,
            entries,
            (level, Ending::key()),
            &mut |stage: &mut Stage<'_>| ending.probe(stage),
        )?;
    }
    Ok(())
}

/// One probe of an entry.
type EntryProbe<'p> = dyn FnMut(&mut Stage<'_>) -> Result<CalibratedEntry, Halt> + 'p;

/// Probes the entry of a key, tells the listener before, and notes what came of it.
fn prove(
    stage: &mut Stage<'_>,
    entries: &mut Vec<CalibratedEntry>,
    (level, key): (IsolationLevel, &str),
    probe: &mut EntryProbe<'_>,
) -> Result<(), Halt> {
    stage.listener.probing(level, key, entries.len());
    let entry = match settled(stage, probe) {
        Err(Halt::Unseen(sql)) => {
            stage.free_the_unanswered()?;
            let reason = "it was answered only when the other session had rolled back, and no view of the server had \
                          shown that it waits";
            let proof = Proof::DoesNotApply(reason.to_owned());
            CalibratedEntry::new(format!("{key}.{}", level.slug()), sql, String::new(), proof)
        }
        settled => settled?,
    };
    entries.push(entry);
    Ok(())
}

/// Probes an entry; one that does not hold is probed again, so that the report can say whether the
/// server keeps to its answer.
fn settled(stage: &mut Stage<'_>, probe: &mut EntryProbe<'_>) -> Result<CalibratedEntry, Halt> {
    stage.take_script();
    let mut entry = probe(stage)?;
    if entry.proof != Proof::Wrong {
        return Ok(entry);
    }
    entry.script = stage.take_script();
    entry.hits = 1;
    for _ in 1..PROBES_OF_A_WRONG_ENTRY {
        let again = probe(stage)?;
        entry.hits += u32::from(again.proof == Proof::Wrong && again.measured == entry.measured);
    }
    Ok(entry)
}

fn no_such_statement(
    dialect: &Dialect,
    level: IsolationLevel,
    form: &Variant,
    missing: &str,
) -> CalibratedEntry {
    CalibratedEntry::new(
        format!("read-modes.{}.{}", level.slug(), form.role),
        form.form.to_owned(),
        dialect.read_mode(level, form.role, true).slug().to_owned(),
        Proof::DoesNotApply(format!("the dialect has no {missing}")),
    )
}
