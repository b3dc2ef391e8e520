//! Files that are on disk whole or not at all: a temporary file beside the place, synchronized,
//! renamed, and the folder synchronized.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names of temporary files begin with this, then the process that writes them.
const TEMPORARY: &str = ".tmp-";

/// Writes a file whole, in the place of one that is there. When this returns, it survives a power
/// loss.
///
/// # Errors
/// When the disk does not take it; what was there is untouched then, and no torn file is left.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes)?;
    sync_folder(folder_of(path))
}

/// As [`write`], without the last step: the caller synchronizes the folder.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder_of(path).join(format!("{TEMPORARY}{process}-{number}-{name}"));
    let written = write_synced(&temporary, bytes).and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        // A torn file is of no use. If it cannot be removed either, the next start sweeps it.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// The folder of a file: the current one for a bare name.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Has the names in a folder on disk.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Removes the temporary files that dead processes left in a folder, and says how many.
///
/// # Errors
/// When the folder is there and cannot be read.
pub fn sweep(folder: &Path) -> io::Result<usize> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(cause) => return Err(cause),
    };
    let mut swept = 0;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(TEMPORARY))
            .and_then(|rest| rest.split('-').next())
            .and_then(|process| process.parse::<i32>().ok());
        if owner.is_some_and(|process| !is_alive(process))
            && std::fs::remove_file(entry.path()).is_ok()
        {
            swept += 1;
        }
    }
    Ok(swept)
}

/// Whether another process of this number runs. Ours is at its start and owns no file yet.
fn is_alive(process: i32) -> bool {
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
    fn a_file_is_replaced_whole_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("x.sql");
        for text in ["first", "second"] {
            write(&path, text.as_bytes()).expect("it is written");
            assert_eq!(std::fs::read_to_string(&path).expect("it is there"), text);
        }
        assert_eq!(
            std::fs::read_dir(folder.path()).map_or(0, Iterator::count),
            1
        );
        let missing = folder.path().join("missing/x.sql");
        assert!(write(&missing, b"text").is_err());
    }

    #[test]
    fn a_bare_name_is_a_file_of_the_current_folder() {
        assert_eq!(folder_of(Path::new("x.sql")), Path::new("."));
        assert_eq!(folder_of(Path::new("out/x.sql")), Path::new("out"));
    }

    #[test]
    fn sweeping_removes_what_dead_processes_left_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dead = folder.path().join(".tmp-2147483647-0-x.sql");
        let living = folder.path().join(".tmp-1-0-x.sql");
        let other = folder.path().join("x.sql");
        for path in [&dead, &living, &other] {
            std::fs::write(path, "").expect("it is writable");
        }
        assert_eq!(sweep(folder.path()).expect("it is read"), 1);
        assert!(!dead.exists() && living.exists() && other.exists());
        assert_eq!(
            sweep(&folder.path().join("missing")).expect("nothing is there"),
            0
        );
    }
}
