//! The runs of a folder, while they go on or after.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use super::error::TriageError;
use super::paths::{RUNS, entries};
use crate::campaign::{self, Checkpoint};

/// Whether a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunStatus {
    /// A process works on it.
    Running,
    /// It has cases left: `fuzz --resume` goes on with it.
    Stopped,
    /// Every case is done.
    Done,
}

impl RunStatus {
    /// Its spelling in JSON and on the screen.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Done => "done",
        }
    }
}

/// A run as its folder shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInFolder {
    pub folder: PathBuf,
    pub state: RunStatus,
    /// When its numbers were saved, in seconds since 1970; none before its first case.
    pub saved_unix_s: Option<u64>,
    /// Its numbers, or why there are none.
    pub checkpoint: Result<Checkpoint, String>,
}

impl RunInFolder {
    fn read(folder: PathBuf) -> Self {
        let checkpoint = campaign::read_checkpoint(&folder).map_err(|error| error.to_string());
        let is_done = checkpoint.as_ref().is_ok_and(|checkpoint| {
            let judged = checkpoint.statistics.verdicts.total();
            let cases = checkpoint.settings.which_cases();
            cases.are_done(checkpoint.done.first_missing(), judged)
        });
        let state = match (is_held(&folder), is_done) {
            (true, _) => RunStatus::Running,
            (false, true) => RunStatus::Done,
            (false, false) => RunStatus::Stopped,
        };
        Self {
            state,
            saved_unix_s: last_written(campaign::checkpoint_files(&folder)),
            checkpoint,
            folder,
        }
    }

    /// The name of its folder: eight digits.
    pub fn name(&self) -> String {
        let name = self.folder.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// When the last of its findings was written, in seconds since 1970; none where none is there.
    pub fn last_finding_unix_s(&self) -> Option<u64> {
        let checkpoint = self.checkpoint.as_ref().ok()?;
        last_written(checkpoint.ledger.findings().map(|found| &found.path))
    }

    /// What its sittings took together; nothing where there are no numbers.
    pub fn elapsed(&self) -> Duration {
        let seconds = self.checkpoint.as_ref().map_or(0.0, |c| c.elapsed_s);
        Duration::try_from_secs_f64(seconds).unwrap_or_default()
    }
}

/// The runs of a folder: those that go on first, the newest first among them. None where it has no folder
/// of runs.
///
/// # Errors
/// When the folder cannot be read.
pub fn runs_of(folder: &Path) -> Result<Vec<RunInFolder>, TriageError> {
    // A folder that is not there, or cannot be read, has no runs, either.
    entries(folder)?;
    let runs = folder.join(RUNS);
    if !runs.is_dir() {
        return Ok(Vec::new());
    }
    let folders = entries(&runs)?.into_iter().filter(|path| path.is_dir());
    let mut runs: Vec<RunInFolder> = folders.map(RunInFolder::read).collect();
    runs.sort_by_key(|run| {
        let is_over = run.state != RunStatus::Running;
        (
            is_over,
            std::cmp::Reverse(run.saved_unix_s),
            run.folder.clone(),
        )
    });
    Ok(runs)
}

/// Whether a process works on a run: it holds the run's lock.
fn is_held(folder: &Path) -> bool {
    let lock = File::open(folder.join("lock"));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// When the last of these files was written, in seconds since 1970; none where none is there.
fn last_written(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Option<u64> {
    let written = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified());
    let times = paths
        .into_iter()
        .filter_map(|path| written(path.as_ref()).ok());
    let last = times.max()?.duration_since(UNIX_EPOCH);
    Some(last.unwrap_or_default().as_secs())
}
