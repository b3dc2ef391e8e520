//! Before the first case: prepares the output folder, records the server, checks the dialect.

use std::fs::{File, TryLockError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};

use crate::calibrate::CalibrationReport;
use crate::campaign::{RunSettings, SettingsRecord};
use crate::cli::calibration::{entry_json, told};
use crate::cli::exit::{Exit, Failure};
use crate::cli::terminal::printable;
use crate::engine::Identity;
use crate::reproducer::whole_file;

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

/// Records what the run was started with and what the server proved to be.
pub(super) fn record_start(
    settings: &RunSettings,
    identity: &Identity,
    calibration: &CalibrationReport,
) -> Result<(), Failure> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a record is stamped with the time it was made"
    )]
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let record = json!({
        "v": 1,
        "settings": SettingsRecord::from(settings),
        "started_unix_s": now,
        "server": {
            "engine": identity.engine,
            "version": identity.version_text,
            "variables": identity.variables,
        },
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
