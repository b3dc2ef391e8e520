//! Reading a folder of findings.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::error::TriageError;
use super::group::{Group, SeenInRun};
use super::rechecks::Rechecks;
use crate::campaign;
use crate::reproducer::{self, CaseHead, Registry};

/// The folder of the runs, below the folder of findings.
pub(super) const RUNS: &str = "runs";

/// A folder of findings as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriageFolder {
    pub path: PathBuf,
    /// Newest first.
    pub groups: Vec<Group>,
    /// What could not be read, and is left out: a sentence each, with the file's name.
    pub left_out: Vec<String>,
}

impl TriageFolder {
    /// Reads the findings in a folder and in the folders right below it, as `fuzz --out` leaves them.
    /// `builtin` is what is known everywhere; the folder's own registry comes before it.
    ///
    /// # Errors
    /// When the folder, its registry or its record of rechecks cannot be read. A case file or a run that
    /// cannot is left out, and named.
    pub fn read(path: &Path, builtin: Registry) -> Result<Self, TriageError> {
        let registry = Registry::of_folder(path)?.extended(builtin);
        let rechecks = Rechecks::read(path)?;
        let mut left_out = Vec::new();
        let mut files: BTreeMap<String, Vec<CaseHead>> = BTreeMap::new();
        for file in case_files(path)? {
            match reproducer::load_head(&file) {
                Ok(head) => files.entry(head.id.clone()).or_default().push(head),
                Err(error) => left_out.push(error.to_string()),
            }
        }
        let mut seen = seen(path, &mut left_out)?;
        let groups = files.into_iter().map(|(id, files)| {
            let seen = seen.remove(&id).unwrap_or_default();
            let rechecks = rechecks.all.iter().filter(|r| r.signature == id);
            let rechecks = rechecks.cloned().collect();
            Group::new(id, files, seen, rechecks, &registry)
        });
        let mut groups: Vec<Group> = groups.collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.last_unix_s()));
        Ok(Self {
            path: path.to_owned(),
            groups,
            left_out,
        })
    }
}

/// The case files in a folder and in those right below it, but for its runs; sorted.
pub(super) fn case_files(folder: &Path) -> Result<Vec<PathBuf>, TriageError> {
    let mut found = Vec::new();
    for path in entries(folder)? {
        if is_case(&path) {
            found.push(path);
        } else if path.is_dir() && path.file_name().is_some_and(|name| name != RUNS) {
            found.extend(entries(&path)?.into_iter().filter(|path| is_case(path)));
        }
    }
    Ok(found)
}

fn is_case(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sql")
}

/// The paths in a folder, sorted.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, TriageError> {
    let fail = |cause| TriageError::Unreadable {
        path: folder.to_owned(),
        cause,
    };
    let entries = std::fs::read_dir(folder).map_err(fail)?;
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(fail)?;
    paths.sort();
    Ok(paths)
}

/// What the runs of a folder saw, by signature.
fn seen(
    folder: &Path,
    left_out: &mut Vec<String>,
) -> Result<BTreeMap<String, Vec<SeenInRun>>, TriageError> {
    let mut seen: BTreeMap<String, Vec<SeenInRun>> = BTreeMap::new();
    let runs = folder.join(RUNS);
    if !runs.is_dir() {
        return Ok(seen);
    }
    for path in entries(&runs)? {
        let checkpoint = match campaign::read_checkpoint(&path) {
            Ok(checkpoint) => checkpoint,
            Err(error) => {
                left_out.push(format!("sightings of a run are not counted: {error}"));
                continue;
            }
        };
        for (id, sightings) in checkpoint.ledger.groups() {
            seen.entry(id.to_owned()).or_default().push(SeenInRun {
                run: path
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
                server: checkpoint.server.clone(),
                seed: checkpoint.settings.seed,
                sightings: sightings.clone(),
            });
        }
    }
    Ok(seen)
}
