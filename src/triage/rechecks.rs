//! What rechecks saw: one record for each group and server, in a file of the folder.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::TriageError;
use crate::reproducer::whole_file;

/// Below the folder.
const FILE: &str = "rechecks.json";

/// Raise it when an older program would misread a newer file.
const VERSION: u32 = 1;

/// What a recheck came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecheckResult {
    /// It showed.
    There,
    /// It did not show, in as many runs as its rate asks for.
    Gone,
    /// Its case could not be run, or nothing could be said of a run.
    Undecided,
}

impl RecheckResult {
    /// As reports name it.
    pub fn slug(self) -> &'static str {
        match self {
            Self::There => "there",
            Self::Gone => "gone",
            Self::Undecided => "undecided",
        }
    }
}

/// What the last recheck of a group on one server saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recheck {
    pub signature: String,
    /// Engine and version text.
    pub server: String,
    /// Seconds since 1970.
    pub unix_s: u64,
    pub result: RecheckResult,
    /// Runs that showed it.
    pub hits: u32,
    pub runs: u32,
    /// An earlier recheck on this server did not see it.
    #[serde(default)]
    pub was_gone: bool,
}

/// All records of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rechecks {
    pub all: Vec<Recheck>,
}

#[derive(Serialize, Deserialize)]
struct RawRechecks {
    v: u32,
    rechecks: Vec<Recheck>,
}

impl Rechecks {
    /// Reads the records of a folder; none where it has no file of them.
    ///
    /// # Errors
    /// When the file is there and is not as this program writes it.
    pub fn read(folder: &Path) -> Result<Self, TriageError> {
        let path = folder.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(cause) => return Err(TriageError::Unreadable { path, cause }),
        };
        match serde_json::from_str::<RawRechecks>(&text) {
            Ok(raw) if raw.v == VERSION => Ok(Self { all: raw.rechecks }),
            Ok(raw) => Err(TriageError::NotRechecks {
                path,
                reason: format!("format {} is not known: expected {VERSION}", raw.v),
            }),
            Err(error) => Err(TriageError::NotRechecks {
                path,
                reason: error.to_string(),
            }),
        }
    }

    /// Takes a record in the place of an earlier one of this group and server, and returns it as it stands
    /// then. An undecided one takes no place: it says nothing.
    pub fn note(&mut self, mut new: Recheck) -> Recheck {
        let same = |old: &&mut Recheck| old.signature == new.signature && old.server == new.server;
        match self.all.iter_mut().find(same) {
            Some(old) => {
                new.was_gone = old.was_gone || old.result == RecheckResult::Gone;
                if new.result != RecheckResult::Undecided {
                    *old = new.clone();
                }
            }
            None => self.all.push(new.clone()),
        }
        new
    }

    /// Takes a record of another folder, unless this one has a newer one of this group and server.
    pub(super) fn adopt(&mut self, other: Recheck) {
        let same =
            |own: &&mut Recheck| own.signature == other.signature && own.server == other.server;
        match self.all.iter_mut().find(same) {
            Some(own) if own.unix_s >= other.unix_s => {}
            Some(own) => *own = other,
            None => self.all.push(other),
        }
    }

    /// Writes the records, whole.
    ///
    /// # Errors
    /// When the disk does not take them; what was there is untouched then.
    pub fn write(&self, folder: &Path) -> Result<(), TriageError> {
        let path = folder.join(FILE);
        let raw = RawRechecks {
            v: VERSION,
            rechecks: self.all.clone(),
        };
        let text = serde_json::to_string_pretty(&raw).map_err(std::io::Error::other);
        let written =
            text.and_then(|text| whole_file::write(&path, format!("{text}\n").as_bytes()));
        written.map_err(|cause| TriageError::Write { path, cause })
    }
}
