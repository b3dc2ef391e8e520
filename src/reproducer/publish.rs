//! Reproducers on disk: where they go, how they are named, and what to say where none can be written.

use std::io;
use std::path::{Path, PathBuf};

use super::whole_file::{self, sync_folder};
use super::{CaseFile, write};
use crate::model::Signature;

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
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "an enum of the standard library"
    )]
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

/// The file name of a finding, without its ending: what is wrong and the identifier of the signature.
pub fn file_stem(signature: &Signature) -> String {
    sanitized(&format!("{}-{}", signature.anomaly, signature.id()))
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

/// Publishes a case with its JSON sidecar, and returns the path of the case file.
///
/// The case file goes last, so that both files are there when it is seen. When this returns, they are
/// on disk for good: announce the finding afterwards. Files of these names are replaced. Other formats
/// are made of the case file on demand.
///
/// # Errors
/// When the folder cannot be made or does not take the files. No torn file is left.
pub fn publish(
    folder: &Path,
    name: &str,
    file: &CaseFile,
    json: &str,
) -> Result<PathBuf, PublishError> {
    let stem = sanitized(name);
    make_folder(folder)?;
    publish_one(folder, &format!("{stem}.json"), json)?;
    let path = publish_one(folder, &format!("{stem}.sql"), &write(file))?;
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

/// Writes one file, whose folder is not synchronized yet.
fn publish_one(folder: &Path, name: &str, text: &str) -> Result<PathBuf, PublishError> {
    let path = folder.join(name);
    whole_file::replace(&path, text.as_bytes()).map_err(|cause| PublishError::new(&path, cause))?;
    Ok(path)
}

/// Removes the temporary files that dead processes left in a folder, and says how many.
///
/// # Errors
/// When the folder is there and cannot be read.
pub fn sweep(folder: &Path) -> Result<usize, PublishError> {
    whole_file::sweep(folder).map_err(|cause| PublishError::new(folder, cause))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproducer::read;

    fn case(sql: &str) -> CaseFile {
        let text = format!("--! format = 1\n--! isolation = \"SERIALIZABLE\"\n/* s1 */ {sql};\n");
        read(&text, "x.sql").unwrap()
    }

    #[test]
    fn a_published_case_is_there_whole_with_its_sidecar() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("mariadb");
        let (first, second) = (case("SELECT 1"), case("SELECT 2"));
        let path = publish(&inner, "txcheck-wrong-rows-1a2b", &first, "{}").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), write(&first));
        assert_eq!(
            std::fs::read_to_string(path.with_extension("json")).unwrap(),
            "{}"
        );
        assert_eq!(std::fs::read_dir(&inner).unwrap().count(), 2);
        publish(&inner, "txcheck-wrong-rows-1a2b", &second, "{}").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), write(&second));
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
        let error = publish(&file.join("mariadb"), "x", &case("SELECT 1"), "").unwrap_err();
        assert!(error.to_string().contains("no folder"), "{error}");
    }
}
