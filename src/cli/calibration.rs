//! A calibration as commands run it and tell it: `calibrate` itself, and `fuzz` before its first
//! case.

use indicatif::ProgressBar;
use serde_json::json;

use super::exit::{Exit, Failure};
use super::terminal::{live_line, printable};
use crate::calibrate::{
    self, CalibratedEntry, CalibrationError, CalibrationListener, CalibrationReport, Proof,
};
use crate::campaign::StopFlag;
use crate::engine::Server;
use crate::model::IsolationLevel;

/// Calibrates, with its progress on standard error where that is a terminal. A signal ends it.
pub(super) fn calibrated(
    server: &dyn Server,
    stop: &StopFlag,
) -> Result<CalibrationReport, Failure> {
    shown(server, stop)?.map_err(|error| failure(error, stop))
}

/// The same, for callers that ask why it ended.
pub(super) fn shown(
    server: &dyn Server,
    stop: &StopFlag,
) -> Result<Result<CalibrationReport, CalibrationError>, Failure> {
    let mut progress = CalibrationProgress {
        bar: live_line()?,
        stop,
    };
    let result = calibrate::run(server, &mut progress);
    if let Some(bar) = &progress.bar {
        bar.finish_and_clear();
    }
    Ok(result)
}

pub(super) fn failure(error: CalibrationError, stop: &StopFlag) -> Failure {
    match error {
        CalibrationError::Engine(error) | CalibrationError::Left { error, .. } => error.into(),
        CalibrationError::Interrupted => Failure {
            exit: stop.signal().map_or(Exit::Interrupted, Exit::of_signal),
            message: "interrupted during the calibration: its database is dropped".to_owned(),
        },
    }
}

/// The live line of a calibration.
struct CalibrationProgress<'a> {
    /// None where standard error is no terminal.
    bar: Option<ProgressBar>,
    stop: &'a StopFlag,
}

impl CalibrationListener for CalibrationProgress<'_> {
    fn probing(&mut self, level: IsolationLevel, subject: &str, done: usize) {
        if let Some(bar) = &self.bar {
            bar.set_message(progress_line(level, subject, done));
            bar.tick();
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_set()
    }
}

fn progress_line(level: IsolationLevel, subject: &str, done: usize) -> String {
    format!(
        "calibrating {}: {subject}   {done} entries proved",
        level.slug()
    )
}

/// A wrong entry for people: what may be wrong, how to tell, and the statements.
pub(super) fn told(entry: &CalibratedEntry) -> String {
    let script: String = entry
        .script
        .iter()
        .map(|line| format!("\n  {}", printable(line)))
        .collect();
    format!("{}{script}", printable(&entry.how_to_tell()))
}

/// An entry as `--format json` and the record of a run have it.
pub(super) fn entry_json(entry: &CalibratedEntry) -> serde_json::Value {
    let reason = match &entry.proof {
        Proof::Right | Proof::Wrong => None,
        Proof::DoesNotApply(reason) => Some(reason),
    };
    json!({
        "v": 1,
        "event": "entry",
        "subject": entry.subject,
        "form": entry.form,
        "file": entry.claimed,
        "server": entry.measured,
        "judgement": entry.proof.slug(),
        "reason": reason,
        "hits": entry.hits,
        "script": entry.script,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::Unattended;
    use crate::engine::{self, OpenOptions};

    #[test]
    fn the_progress_names_the_level_the_key_and_the_count() {
        let line = progress_line(IsolationLevel::RepeatableRead, "update-source", 57);
        assert_eq!(
            line,
            "calibrating repeatable-read: update-source   57 entries proved"
        );
    }

    #[test]
    fn a_signal_ends_the_calibration_with_its_exit_code_and_leaves_no_database() {
        let server = engine::open("sqlite:", &OpenOptions::default()).expect("a server");
        for (signal, exit) in [(2, Exit::Interrupted), (15, Exit::Terminated)] {
            let stop = StopFlag::default();
            stop.flag()
                .store(signal, std::sync::atomic::Ordering::SeqCst);
            let failure = calibrated(&*server, &stop).expect_err("stopped");
            assert_eq!(failure.exit, exit, "{failure}");
            assert_eq!(server.leftovers().expect("a list"), []);
        }
        // The same server can be calibrated afterwards.
        assert!(
            calibrate::run(&*server, &mut Unattended)
                .expect("a report")
                .is_right()
        );
    }
}
