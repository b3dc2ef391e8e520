//! The checkpoint of a run: what `--resume` goes on from.
//!
//! Two files are written in turn, each whole and synchronized before it gets its name, so that a
//! kill at any moment leaves at least one good one. The newest whose checksum holds is read.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use super::progress::Done;
use super::statistics::Statistics;

/// Raise it when an older reader would misread a newer file.
const VERSION: u32 = 1;

/// Names of files that are not whole yet begin with this.
const TEMPORARY: &str = ".tmp-";

const NAMES: [&str; 2] = ["checkpoint-a.json", "checkpoint-b.json"];

/// What the run was started with: a resumed run must draw the same cases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The program's version: another one may draw other cases.
    pub program: String,
    pub run_id: String,
    /// The TARGET, without its password.
    pub target: String,
    /// Engine and version text of the server.
    pub server: String,
    pub seed: u64,
    /// As the command line spells them.
    pub isolation: String,
    pub claim: Option<String>,
    pub oracles: Vec<String>,
    pub observe: Option<String>,
    pub cases: Option<u64>,
    /// Folder of `--grammar` and file of `--dialect`, where they were given.
    pub grammar: Option<String>,
    pub dialect: Option<String>,
    pub known: Option<String>,
    pub doublecheck: bool,
}

/// Everything that a resumed run goes on from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub settings: Settings,
    pub done: Done,
    pub statistics: Statistics,
    pub ledger: Ledger,
    /// Seconds the run has taken so far, over all its sittings.
    pub elapsed_s: f64,
}

#[derive(Serialize, Deserialize)]
struct Envelope {
    v: u32,
    sequence: u64,
    /// BLAKE3 of the body's text.
    blake3: String,
    /// The checkpoint as JSON text: a checksum needs the very bytes.
    body: String,
}

/// Why a checkpoint cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("cannot write {path}: {cause}")]
    Write {
        path: PathBuf,
        cause: std::io::Error,
    },
    #[error("{folder} holds no checkpoint of a run: {reason}")]
    Missing { folder: PathBuf, reason: String },
}

/// Writes checkpoints into one folder.
#[derive(Debug)]
pub(super) struct Writer {
    folder: PathBuf,
    sequence: u64,
}

impl Writer {
    /// Goes on after the newest checkpoint of the folder.
    pub(super) fn new(folder: &Path) -> Self {
        let newest = envelopes(folder)
            .into_iter()
            .map(|envelope| envelope.sequence)
            .max();
        Self {
            folder: folder.to_owned(),
            sequence: newest.unwrap_or(0),
        }
    }

    /// Writes over the older of the two files.
    ///
    /// # Errors
    /// When the disk does not take it; the newer file is untouched then.
    pub(super) fn write(&mut self, checkpoint: &Checkpoint) -> Result<(), CheckpointError> {
        let sequence = self.sequence + 1;
        let name = NAMES[usize::from(sequence.is_multiple_of(2))];
        let path = self.folder.join(name);
        let body = serde_json::to_string(checkpoint).map_err(std::io::Error::other);
        let written = body.and_then(|body| {
            let envelope = Envelope {
                v: VERSION,
                sequence,
                blake3: blake3::hash(body.as_bytes()).to_hex().to_string(),
                body,
            };
            let text = serde_json::to_string(&envelope).map_err(std::io::Error::other)?;
            write_whole(&path, text.as_bytes())
        });
        written.map_err(|cause| CheckpointError::Write { path, cause })?;
        self.sequence = sequence;
        Ok(())
    }
}

/// Writes a file that is either whole or not there: a temporary file in the same folder,
/// synchronized, renamed, and the folder synchronized.
///
/// # Errors
/// Whatever the disk says.
pub fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    fs::File::open(folder)?.sync_all()
}

/// Removes the temporary files that a killed process left in a run's folder. Only whoever holds the
/// run's lock may do this. What cannot be removed does no harm.
pub fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(TEMPORARY)
            && let Err(error) = fs::remove_file(&path)
        {
            tracing::debug!("{} stays: {error}", path.display());
        }
    }
}

/// Reads the newest good checkpoint of a folder.
///
/// # Errors
/// When there is none.
pub fn read(folder: &Path) -> Result<Checkpoint, CheckpointError> {
    let missing = |reason: &str| CheckpointError::Missing {
        folder: folder.to_owned(),
        reason: reason.to_owned(),
    };
    if !folder.is_dir() {
        return Err(missing("it is no folder"));
    }
    let mut found = envelopes(folder);
    found.sort_by_key(|envelope| envelope.sequence);
    let mut reason = "neither of its checkpoint files can be read".to_owned();
    for envelope in found.into_iter().rev() {
        match serde_json::from_str(&envelope.body) {
            Ok(checkpoint) => return Ok(checkpoint),
            Err(error) => reason = error.to_string(),
        }
    }
    Err(missing(&reason))
}

/// The files that can be read and whose checksum holds.
fn envelopes(folder: &Path) -> Vec<Envelope> {
    NAMES
        .iter()
        .filter_map(|name| fs::read_to_string(folder.join(name)).ok())
        .filter_map(|text| serde_json::from_str::<Envelope>(&text).ok())
        .filter(|envelope| envelope.v == VERSION)
        .filter(|e| blake3::hash(e.body.as_bytes()).to_hex().as_str() == e.blake3)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(seed: u64) -> Checkpoint {
        let mut done = Done::default();
        done.insert(seed);
        Checkpoint {
            settings: Settings {
                program: "0.1.0".to_owned(),
                run_id: "0123abcd".to_owned(),
                target: "sqlite:".to_owned(),
                server: "sqlite 3".to_owned(),
                seed,
                isolation: "all".to_owned(),
                claim: None,
                oracles: vec!["serial".to_owned()],
                observe: None,
                cases: Some(7),
                grammar: None,
                dialect: None,
                known: None,
                doublecheck: false,
            },
            done,
            statistics: Statistics::default(),
            ledger: Ledger::default(),
            elapsed_s: 1.5,
        }
    }

    #[test]
    fn the_newest_checkpoint_is_read_back() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut writer = Writer::new(folder.path());
        for seed in 1..=5 {
            writer.write(&checkpoint(seed)).expect("it is written");
            assert_eq!(read(folder.path()).expect("it is read"), checkpoint(seed));
        }
        let mut writer = Writer::new(folder.path());
        writer.write(&checkpoint(6)).expect("it is written");
        assert_eq!(read(folder.path()).expect("it is read"), checkpoint(6));
    }

    #[test]
    fn a_torn_newest_file_falls_back_to_the_one_before() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut writer = Writer::new(folder.path());
        writer.write(&checkpoint(1)).expect("it is written");
        writer.write(&checkpoint(2)).expect("it is written");
        let newest = folder.path().join(NAMES[1]);
        let text = fs::read_to_string(&newest).expect("it is there");
        for torn in [
            &text[..text.len() / 2],
            "",
            &text.replace("sqlite:", "mysql:"),
        ] {
            fs::write(&newest, torn).expect("it is writable");
            assert_eq!(read(folder.path()).expect("it is read").settings.seed, 1);
        }
    }

    #[test]
    fn a_folder_without_a_checkpoint_says_so() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let error = read(folder.path()).expect_err("there is nothing");
        assert!(error.to_string().contains("holds no checkpoint"), "{error}");
    }
}
