//! The folder of findings that a task works on.

use std::fs::File;
use std::path::Path;

use crate::cli::exit::Failure;
use crate::reproducer::Registry;
use crate::triage::{self, Group, TriageError, TriageFolder};

/// Reads the findings of a folder.
pub(super) fn read(folder: &Path) -> Result<TriageFolder, Failure> {
    let builtin = Registry::builtin().map_err(|error| Failure::usage(error.to_string()))?;
    Ok(TriageFolder::read(folder, builtin)?)
}

/// The group that eight digits or the first of them name.
pub(super) fn find<'a>(folder: &'a TriageFolder, signature: &str) -> Result<&'a Group, Failure> {
    let named = folder
        .groups
        .iter()
        .filter(|group| group.id.starts_with(signature));
    let named: Vec<&Group> = named.collect();
    let shown = folder.path.display();
    match named.as_slice() {
        [group] => Ok(group),
        [] => Err(Failure::usage(format!(
            "no finding in {shown} has the signature {signature}: `rashomon triage {shown}` lists them"
        ))),
        [..] => {
            let ids: Vec<&str> = named.iter().map(|group| group.id.as_str()).collect();
            let ids = ids.join(", ");
            Err(Failure::usage(format!(
                "{signature} may be any of {ids}: type more digits"
            )))
        }
    }
}

/// Four to eight digits of a signature.
pub(super) fn signature(text: &str) -> Result<String, String> {
    let text = text.to_ascii_lowercase();
    let digits = text.chars().all(|c| c.is_ascii_hexdigit());
    if digits && (4..=8).contains(&text.len()) {
        Ok(text)
    } else {
        Err(
            "expected a signature as `rashomon triage` lists it, or its first four digits at least"
                .to_owned(),
        )
    }
}

/// Keeps other `triage` commands from changing the folder's files while it is held.
pub(super) fn lock(folder: &Path) -> Result<File, Failure> {
    triage::require_folder(folder)?;
    let path = folder.join("triage.lock");
    let cannot = |error| Failure::environment(format!("cannot write {}: {error}", path.display()));
    let file = File::create(&path).map_err(cannot)?;
    file.lock().map_err(cannot)?;
    Ok(file)
}

impl From<TriageError> for Failure {
    fn from(error: TriageError) -> Self {
        let message = error.to_string();
        match error {
            TriageError::NoFolder { .. }
            | TriageError::Unreadable { .. }
            | TriageError::NotRechecks { .. }
            | TriageError::Registry(_) => Self::usage(message),
            TriageError::Write { .. } => Self::environment(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_typed_in_full_or_by_its_first_digits() {
        assert_eq!(signature("2fcdb124"), Ok("2fcdb124".to_owned()));
        assert_eq!(signature("2FCD"), Ok("2fcd".to_owned()));
        for wrong in ["2fc", "2fcdb1245", "lost", ""] {
            assert!(signature(wrong).is_err(), "{wrong}");
        }
    }
}
