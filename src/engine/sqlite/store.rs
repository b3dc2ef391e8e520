//! The files: one per database, in a folder of our own or beside the file that the target names.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::OpenFlags;
use tempfile::TempDir;

use super::connection::{NAME, plain_rows, rejected};
use crate::engine::error::EngineError;
use crate::engine::guard::Databases;
use crate::engine::marker::{MARKER_TABLE, Marker, is_ours};

const SUFFIX: &str = ".sqlite3";
/// What the names of temporary folders begin with.
const PREFIX: &str = "rashomon-";

/// How long a new database waits for those who look at it before it has its marker.
const MARKER_WITHIN: Duration = Duration::from_secs(10);

/// How the database file keeps transactions apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Journal {
    /// Write-ahead log: readers and one writer at once.
    Wal,
    /// Rollback journal: a writer commits only when no connection reads.
    Delete,
}

impl Journal {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Wal => "wal",
            Self::Delete => "delete",
        }
    }
}

/// The temporary folders of this and other runs, as far as they can be seen.
pub(in crate::engine) fn temporary_folders() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(std::env::temp_dir())
        .into_iter()
        .flatten();
    let is_one = |entry: &std::fs::DirEntry| {
        entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
    };
    let mut folders: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(is_one)
        .map(|entry| entry.path())
        .filter(|folder| std::fs::read_dir(folder).is_ok())
        .collect();
    folders.sort_unstable();
    folders
}

/// Where databases are.
pub(super) struct FileStore {
    folder: PathBuf,
    /// Removed with the server, when the target named no place.
    _temporary: Option<TempDir>,
}

impl FileStore {
    /// The folder a target asks for: a temporary one, the folder it names, or the folder of the
    /// file it names. That file itself is never changed; a database without our marker is refused.
    pub(super) fn open(path: Option<&Path>) -> Result<Self, EngineError> {
        let Some(path) = path else {
            let temporary = tempfile::Builder::new()
                .prefix(PREFIX)
                .tempdir()
                .map_err(|error| unusable(&std::env::temp_dir(), &error))?;
            return Ok(Self {
                folder: temporary.path().to_owned(),
                _temporary: Some(temporary),
            });
        };
        let folder = if path.is_dir() {
            path.to_owned()
        } else {
            if path.exists() && read_marker(path)?.is_none() {
                return Err(EngineError::Unsafe(format!(
                    "{} exists and carries no marker of ours",
                    path.display()
                )));
            }
            match path.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
                _ => PathBuf::from("."),
            }
        };
        if !folder.is_dir() {
            return Err(EngineError::Target(format!(
                "{} is no folder",
                folder.display()
            )));
        }
        Ok(Self {
            folder,
            _temporary: None,
        })
    }

    /// Where the files are.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of a database whose name was checked.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{SUFFIX}"))
    }

    /// Opens a connection that never waits and never syncs.
    pub(super) fn connect(&self, name: &str) -> Result<rusqlite::Connection, EngineError> {
        let path = self.path(name);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let raw = rusqlite::Connection::open_with_flags(&path, flags)
            .map_err(|error| connect_error(&path, &error))?;
        let setup = || {
            raw.busy_timeout(Duration::ZERO)?;
            raw.pragma_update(None, "synchronous", "OFF")?;
            raw.pragma_update(None, "foreign_keys", true)
        };
        setup().map_err(|error| connect_error(&path, &error))?;
        Ok(raw)
    }
}

/// The databases of a store, for the guard.
pub(super) struct Files<'s> {
    pub(super) store: &'s FileStore,
    /// Of the files that are made.
    pub(super) journal: Journal,
}

impl Databases for Files<'_> {
    /// Those with a name of ours, whatever else is in the folder.
    fn names(&mut self) -> Result<Vec<String>, EngineError> {
        let folder = &self.store.folder;
        let entries = std::fs::read_dir(folder).map_err(|error| unusable(folder, &error))?;
        let mut names: Vec<String> = entries
            .filter_map(Result::ok)
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter_map(|name| name.strip_suffix(SUFFIX).map(str::to_owned))
            .filter(|name| is_ours(name) && self.store.path(name).exists())
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Files of others are no databases of a server of ours.
    fn foreign(&mut self) -> Result<Vec<String>, EngineError> {
        Ok(Vec::new())
    }

    /// A file that is gone has none.
    fn marker(&mut self, name: &str) -> Result<Option<Marker>, EngineError> {
        let path = self.store.path(name);
        match read_marker(&path) {
            Err(_) if !path.exists() => Ok(None),
            marker => marker,
        }
    }

    fn make(&mut self, name: &str, marker: &Marker) -> Result<(), EngineError> {
        let path = self.store.path(name);
        // Opened for creation only: a file that appeared meanwhile is not ours.
        std::fs::File::create_new(&path).map_err(|error| unusable(&path, &error))?;
        let raw = self.store.connect(name)?;
        // Whoever cleans up reads the marker of every file that appears.
        raw.busy_timeout(MARKER_WITHIN)
            .map_err(|error| connect_error(&path, &error))?;
        let sql = format!("PRAGMA journal_mode = {}", self.journal.word());
        raw.query_row(&sql, [], |_| Ok(()))
            .map_err(|error| rejected(&sql, &error))?;
        let sql = format!(
            "CREATE TABLE {MARKER_TABLE} (run_id TEXT, host TEXT, pid INTEGER, created TEXT)"
        );
        raw.execute(&sql, [])
            .map_err(|error| rejected(&sql, &error))?;
        let sql = format!("INSERT INTO {MARKER_TABLE} VALUES (?1, ?2, ?3, datetime('now'))");
        raw.execute(&sql, (&marker.run_id, &marker.host, marker.pid))
            .map_err(|error| rejected(&sql, &error))?;
        Ok(())
    }

    /// Removes the file, and what SQLite keeps beside it.
    fn remove(&mut self, name: &str) -> Result<(), EngineError> {
        let path = self.store.path(name);
        for suffix in ["-wal", "-shm", "-journal", ""] {
            let file = PathBuf::from(format!("{}{suffix}", path.display()));
            match std::fs::remove_file(&file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(unusable(&file, &error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn safety_text(&self) -> String {
        let folder = self.store.folder.display();
        format!("databases are files in {folder}; nothing else is touched")
    }
}

/// The marker in a file, read without writing to it. None when it is a database without one, or
/// no database at all.
fn read_marker(path: &Path) -> Result<Option<Marker>, EngineError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let raw = rusqlite::Connection::open_with_flags(path, flags)
        .map_err(|error| connect_error(path, &error))?;
    let sql = format!("SELECT run_id, host, pid, created FROM {MARKER_TABLE}");
    let Ok(rows) = plain_rows(&raw, &sql) else {
        return Ok(None);
    };
    Ok(rows.first().and_then(Marker::of_row))
}

fn connect_error(path: &Path, error: &rusqlite::Error) -> EngineError {
    EngineError::Connect {
        engine: NAME,
        address: path.display().to_string(),
        cause: error.to_string(),
    }
}

fn unusable(path: &Path, error: &std::io::Error) -> EngineError {
    if error.kind() == std::io::ErrorKind::StorageFull {
        return EngineError::Resource(format!("{}: {error}", path.display()));
    }
    EngineError::Connect {
        engine: NAME,
        address: path.display().to_string(),
        cause: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_database_is_made_while_others_look_for_its_marker() {
        let store = FileStore::open(None).expect("a folder");
        let done = AtomicBool::new(false);
        let files = |journal| Files {
            store: &store,
            journal,
        };
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        let mut files = files(Journal::Wal);
                        for name in files.names().expect("the folder is read") {
                            files.marker(&name).expect("it is read, or gone");
                        }
                    }
                });
            }
            let marker = Marker::of_this_process("looked-at");
            let mut made = Vec::new();
            for journal in [Journal::Wal, Journal::Delete] {
                for number in 0..100 {
                    let name = format!("rashomon_looked_at_{number}");
                    let mut files = files(journal);
                    made.push(
                        files
                            .make(&name, &marker)
                            .and_then(|()| files.remove(&name)),
                    );
                }
            }
            done.store(true, Ordering::Relaxed);
            let refused: Vec<EngineError> = made.into_iter().filter_map(Result::err).collect();
            assert!(refused.is_empty(), "{refused:?}");
        });
    }
}
