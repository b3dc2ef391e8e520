//! Files on disk, whole or not at all: temporary file, fsync, rename, fsync of the folder.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::model::Signature;

/// Names of temporary files begin with this; [`sweep`] removes what a dead process left.
const TEMPORARY: &str = ".tmp-";

/// The longest stem of a file name we make, in bytes.
const STEM_BYTES_MAX: usize = 80;

/// The folder does not take a file: the environment, not the case.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {advice}{cause}")]
pub struct PublishError {
    pub path: String,
    /// What is wrong in plain words, when it is one of the usual reasons.
    pub advice: &'static str,
    #[source]
    pub cause: io::Error,
}

impl PublishError {
    fn new(path: &Path, cause: io::Error) -> Self {
        let advice = match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "the disk is full: ",
            io::ErrorKind::PermissionDenied => "no permission to write there: ",
            io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only: ",
            io::ErrorKind::NotADirectory => "a part of the path is no folder: ",
            _ => "",
        };
        Self {
            path: path.display().to_string(),
            advice,
            cause,
        }
    }
}

/// The file name of a finding, without its ending: oracle, kind and identifier of the signature.
/// Lower-case letters, digits and `-` only, whatever the signature holds.
pub fn file_stem(signature: &Signature) -> String {
    sanitized(&format!(
        "{}-{}-{}",
        signature.oracle,
        signature.kind,
        signature.id()
    ))
}

/// A name that is safe in any folder: no separators, no dots, no leading dash.
fn sanitized(name: &str) -> String {
    let mut stem = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            stem.push(c.to_ascii_lowercase());
        } else if !stem.is_empty() && !stem.ends_with('-') {
            stem.push('-');
        }
    }
    stem.truncate(STEM_BYTES_MAX);
    let stem = stem.trim_end_matches('-');
    if stem.is_empty() { "case" } else { stem }.to_owned()
}

/// Publishes a case file and its JSON sidecar, and returns the path of the case file.
///
/// The sidecar goes first, so that whoever sees the case sees both. When this returns, both are on
/// disk for good: announce the finding afterwards. Files of these names are replaced.
///
/// # Errors
/// When the folder cannot be made or does not take the files. No torn file is left.
pub fn publish(folder: &Path, name: &str, text: &str, json: &str) -> Result<PathBuf, PublishError> {
    let stem = sanitized(name);
    make_folder(folder)?;
    publish_one(folder, &format!("{stem}.json"), json)?;
    let path = publish_one(folder, &format!("{stem}.sql"), text)?;
    sync_folder(folder).map_err(|cause| PublishError::new(folder, cause))?;
    Ok(path)
}

/// Makes a folder and those above it, and has them on disk.
fn make_folder(folder: &Path) -> Result<(), PublishError> {
    if folder.is_dir() {
        return Ok(());
    }
    let fail = |cause| PublishError::new(folder, cause);
    std::fs::create_dir_all(folder).map_err(fail)?;
    match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_folder(parent).map_err(fail),
        _ => Ok(()),
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Writes one file beside its place and moves it there.
fn publish_one(folder: &Path, name: &str, text: &str) -> Result<PathBuf, PublishError> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    let temporary = folder.join(format!("{TEMPORARY}{process}-{number}-{name}"));
    let path = folder.join(name);
    let written = write_synced(&temporary, text).and_then(|()| std::fs::rename(&temporary, &path));
    written.map_err(|cause| {
        // What could not be written whole is of no use; that it cannot be removed either adds
        // nothing to the error, and the next start sweeps it.
        let _ = std::fs::remove_file(&temporary);
        PublishError::new(&path, cause)
    })?;
    Ok(path)
}

fn write_synced(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Removes the temporary files that dead processes left in a folder, and says how many.
///
/// # Errors
/// When the folder is there and cannot be read.
pub fn sweep(folder: &Path) -> Result<usize, PublishError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(cause) => return Err(PublishError::new(folder, cause)),
    };
    let mut swept = 0;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(TEMPORARY))
            .and_then(|rest| rest.split('-').next())
            .and_then(|process| process.parse::<i32>().ok());
        if owner.is_some_and(|process| !alive(process))
            && std::fs::remove_file(entry.path()).is_ok()
        {
            swept += 1;
        }
    }
    Ok(swept)
}

/// Whether another process of this number runs. Ours is at its start and owns nothing yet.
fn alive(process: i32) -> bool {
    if u32::try_from(process).is_ok_and(|process| process == std::process::id()) {
        return false;
    }
    match rustix::process::Pid::from_raw(process) {
        Some(pid) => !matches!(
            rustix::process::test_kill_process(pid),
            Err(rustix::io::Errno::SRCH)
        ),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_case_is_there_whole_with_its_sidecar() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("mariadb");
        let path = publish(&inner, "txcheck-wrong-rows-1a2b", "case", "{}").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "case");
        assert_eq!(
            std::fs::read_to_string(path.with_extension("json")).unwrap(),
            "{}"
        );
        assert_eq!(std::fs::read_dir(&inner).unwrap().count(), 2);
        publish(&inner, "txcheck-wrong-rows-1a2b", "smaller", "{}").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "smaller");
    }

    #[test]
    fn a_name_never_leaves_its_folder() {
        for name in [
            "../../etc/passwd",
            "/abs",
            "..",
            "",
            "a/b\\c\0d",
            "-rf",
            ".hidden",
        ] {
            let stem = sanitized(name);
            let safe = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(!stem.is_empty() && stem.chars().all(safe), "{stem}");
            assert!(!stem.starts_with('-'), "{stem}");
        }
    }

    #[test]
    fn a_file_in_the_place_of_the_folder_is_one_clear_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out");
        std::fs::write(&file, "").unwrap();
        let error = publish(&file.join("mariadb"), "x", "", "").unwrap_err();
        assert!(error.to_string().contains("no folder"), "{error}");
    }

    #[test]
    fn sweeping_removes_what_the_dead_left_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let dead = folder.path().join(".tmp-2147483647-0-x.sql");
        let living = folder.path().join(".tmp-1-0-x.sql");
        let other = folder.path().join("x.sql");
        for path in [&dead, &living, &other] {
            std::fs::write(path, "").unwrap();
        }
        assert_eq!(sweep(folder.path()).unwrap(), 1);
        assert!(!dead.exists() && living.exists() && other.exists());
        assert_eq!(sweep(&folder.path().join("missing")).unwrap(), 0);
    }
}
