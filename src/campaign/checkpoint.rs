//! The checkpoint of a run, from which `--resume` goes on.
//!
//! Two files are written in turn, each whole and synchronized before it gets its name, so that a
//! kill at any moment leaves at least one good one. The newest whose checksum holds is read.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use super::progress::Done;
use super::settings::SettingsRecord;
use super::statistics::Statistics;
use super::timeline::VerdictTimeline;
use crate::reproducer::whole_file;

/// Raise it when an older reader would misread a newer file.
const VERSION: u32 = 4;

const NAMES: [&str; 2] = ["checkpoint-a.json", "checkpoint-b.json"];

/// The state of a run, as a resumed run takes it over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub settings: SettingsRecord,
    /// Engine and version text of the server.
    pub server: String,
    /// Indexes of the cases that need not be judged again.
    pub done: Done,
    pub statistics: Statistics,
    /// The findings so far.
    pub ledger: Ledger,
    /// Seconds the run has taken so far, over all its sittings.
    pub elapsed_s: f64,
    /// When it came to its verdicts; none in a file of an earlier program.
    #[serde(default)]
    pub timeline: Option<VerdictTimeline>,
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
    #[error(
        "{folder} holds a checkpoint of format {found}, and this program reads format {VERSION}: go \
         on with the program that began the run, or begin a new run"
    )]
    OtherFormat { folder: PathBuf, found: u32 },
}

/// Writes checkpoints into one folder.
#[derive(Debug)]
pub(super) struct CheckpointWriter {
    folder: PathBuf,
    sequence: u64,
}

impl CheckpointWriter {
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
            whole_file::write(&path, text.as_bytes())
        });
        written.map_err(|cause| CheckpointError::Write { path, cause })?;
        self.sequence = sequence;
        Ok(())
    }
}

/// The two files of a run's folder that are written in turn; either may be missing.
pub fn files(folder: &Path) -> [PathBuf; 2] {
    NAMES.map(|name| folder.join(name))
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
        return Err(missing("there is no such folder"));
    }
    if NAMES.iter().all(|name| !folder.join(name).exists()) {
        return Err(missing(
            "the folder of a run is one below runs/ in its --out",
        ));
    }
    let mut found = envelopes(folder);
    found.sort_by_key(|envelope| envelope.sequence);
    let mut reason = "neither of its checkpoint files can be read".to_owned();
    for envelope in found.into_iter().rev() {
        if envelope.v != VERSION {
            return Err(CheckpointError::OtherFormat {
                folder: folder.to_owned(),
                found: envelope.v,
            });
        }
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
        .filter(|e| blake3::hash(e.body.as_bytes()).to_hex().as_str() == e.blake3)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::statistics::Verdicts;
    use super::*;

    fn checkpoint(seed: u64) -> Checkpoint {
        let mut done = Done::default();
        done.insert(seed);
        Checkpoint {
            settings: SettingsRecord {
                program: "0.1.0".to_owned(),
                run_id: "0123abcd".to_owned(),
                target: "sqlite:".to_owned(),
                seed,
                isolation: "all".to_owned(),
                claim: None,
                oracles: vec!["serial".to_owned()],
                observe: None,
                cases: Some(7),
                case: None,
                grammar: None,
                dialect: None,
                known: None,
                doublecheck: false,
                against: None,
                workers: 1,
                confirmations: 3,
                patience_s: 600,
                claim_durable: false,
            },
            server: "sqlite 3".to_owned(),
            done,
            statistics: Statistics::default(),
            ledger: Ledger::default(),
            elapsed_s: 1.5,
            timeline: Some(VerdictTimeline::beginning(&Verdicts::default(), seed)),
        }
    }

    #[test]
    fn the_newest_checkpoint_is_read_back() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut writer = CheckpointWriter::new(folder.path());
        for seed in 1..=5 {
            writer.write(&checkpoint(seed)).expect("it is written");
            assert_eq!(read(folder.path()).expect("it is read"), checkpoint(seed));
        }
        let mut writer = CheckpointWriter::new(folder.path());
        writer.write(&checkpoint(6)).expect("it is written");
        assert_eq!(read(folder.path()).expect("it is read"), checkpoint(6));
    }

    #[test]
    fn a_torn_newest_file_falls_back_to_the_one_before() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut writer = CheckpointWriter::new(folder.path());
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
    fn a_checkpoint_of_another_format_is_refused_with_the_way_out() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // As version 1 wrote it, cut short: `settings` held the server's name, and no workers.
        let body = r#"{"settings":{"program":"0.1.0","run_id":"0123abcd","server":"sqlite 3"}}"#;
        let envelope = Envelope {
            v: 1,
            sequence: 4,
            blake3: blake3::hash(body.as_bytes()).to_hex().to_string(),
            body: body.to_owned(),
        };
        let text = serde_json::to_string(&envelope).expect("it is written");
        fs::write(folder.path().join(NAMES[0]), text).expect("it is writable");
        let error = read(folder.path()).expect_err("it is refused").to_string();
        for words in ["format 1", "reads format 4", "begin a new run"] {
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_checkpoint_from_before_times_were_kept_is_read() {
        let mut json = serde_json::to_value(checkpoint(3)).expect("it is written");
        json.as_object_mut().expect("an object").remove("timeline");
        let read: Checkpoint = serde_json::from_value(json).expect("it is read");
        let timeline = None;
        assert_eq!(
            read,
            Checkpoint {
                timeline,
                ..checkpoint(3)
            }
        );
    }

    #[test]
    fn a_folder_without_a_checkpoint_says_so() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let missing = folder.path().join("missing");
        for (folder, says) in [(folder.path(), "below runs/"), (&missing, "no such folder")] {
            let error = read(folder).expect_err("there is nothing").to_string();
            assert!(error.contains("holds no checkpoint"), "{error}");
            assert!(error.contains(says), "{error}");
        }
    }
}
