//! Before the first case: prepares the output folder, records the server, checks the dialect.

use std::fs::{File, TryLockError};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::calibrate::CalibrationReport;
use crate::campaign::{RunSettings, SettingsRecord, StopFlag, is_loss, unix_seconds};
use crate::cli::calibration::{entry_json, told};
use crate::cli::exit::{Exit, Failure};
use crate::cli::quantity::shown_time;
use crate::cli::terminal::printable;
use crate::engine::{EngineError, Identity, Server};
use crate::reproducer::whole_file;

/// How often a server that is not there yet is tried.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Makes the folders of a run and proves that they take a file: better now than at the first
/// finding. The lock that is returned keeps other processes out of the run while it is held.
pub(super) fn prepare_output(settings: &RunSettings) -> Result<File, Failure> {
    let folder = settings.folder();
    let out = settings.out.display();
    let cannot = |error: std::io::Error| {
        Failure::environment(format!("cannot write to --out {out}: {error}"))
    };
    std::fs::create_dir_all(&folder).map_err(cannot)?;
    let lock = File::create(folder.join("lock")).map_err(cannot)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(Failure {
                exit: Exit::Refused,
                message: format!("another process works on the run in {}", folder.display()),
            });
        }
        Err(TryLockError::Error(error)) => return Err(cannot(error)),
    }
    whole_file::sweep(&folder).map_err(cannot)?;
    let test = folder.join("writable");
    whole_file::write(&test, &[b'\n'; 4096])
        .and_then(|()| std::fs::remove_file(&test))
        .map_err(cannot)?;
    Ok(lock)
}

/// Opens the server; where a time to wait for it was given, tries again until then, or until a signal.
///
/// # Errors
/// Why the last attempt failed. What waiting cannot mend (a wrong password, an unknown engine) is told
/// at once.
pub(super) fn reached(
    patience: Option<Duration>,
    stop: &StopFlag,
    open: impl Fn() -> Result<Box<dyn Server>, EngineError>,
) -> Result<Box<dyn Server>, Failure> {
    let began = Instant::now();
    let mut is_told = false;
    loop {
        let error = match open() {
            Err(error) if is_loss(&error) => error,
            other => return Ok(other?),
        };
        if let Some(signal) = stop.signal() {
            return Err(Failure {
                exit: Exit::of_signal(signal),
                message: format!("interrupted while the server could not be reached: {error}"),
            });
        }
        let left = patience.and_then(|time| time.checked_sub(began.elapsed()));
        let Some(left) = left.filter(|left| !left.is_zero()) else {
            return Err(error.into());
        };
        if !is_told {
            is_told = true;
            tracing::warn!("{error}; tried again for {}", shown_time(left));
        }
        std::thread::sleep(left.min(TRY_AGAIN));
    }
}

/// Records what the run was started with and what the server proved to be.
pub(super) fn record_start(
    settings: &RunSettings,
    (identity, counterpart): (&Identity, Option<&Identity>),
    calibration: &CalibrationReport,
) -> Result<(), Failure> {
    let server = |identity: &Identity| {
        json!({
            "engine": identity.engine,
            "version": identity.version_text,
            "variables": identity.variables,
        })
    };
    let record = json!({
        "v": 1,
        "settings": SettingsRecord::from(settings),
        "started_unix_s": unix_seconds(),
        "server": server(identity),
        "counterpart": counterpart.map(server),
        "calibration": calibration_record(calibration),
    });
    let path = settings.folder().join("run.json");
    whole_file::write(&path, format!("{record:#}\n").as_bytes())
        .map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))
}

fn calibration_record(calibration: &CalibrationReport) -> Json {
    let entries: Vec<Json> = calibration.entries.iter().map(entry_json).collect();
    let (right, wrong, idle) = calibration.counts();
    json!({ "right": right, "wrong": wrong, "does_not_apply": idle, "entries": entries })
}

/// Refuses to go on where the dialect file and the server do not agree: every oracle trusts the file.
pub(super) fn check_calibration(
    calibration: &CalibrationReport,
    identity: &Identity,
) -> Result<(), Failure> {
    if calibration.is_right() {
        return Ok(());
    }
    let wrong: Vec<String> = calibration
        .wrong()
        .map(|entry| format!("\n\n{}", told(entry)))
        .collect();
    Err(Failure::usage(format!(
        "{} {} and its dialect file do not agree, and every oracle trusts the file:{}\n\n\
         `rashomon calibrate` shows every entry",
        identity.engine,
        printable(&identity.version_text),
        wrong.concat()
    )))
}
