//! Reading a folder of findings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::error::TriageError;
use super::group::{Group, SeenInRun};
use super::paths::case_files;
use super::rechecks::Rechecks;
use super::run::RunInFolder;
use crate::reproducer::{self, CaseHead, Registry};

/// A folder of findings as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct TriageFolder {
    pub path: PathBuf,
    /// Newest first.
    pub groups: Vec<Group>,
    /// Those that go on first, the newest first among them.
    pub runs: Vec<RunInFolder>,
    /// What is known: the entries of the folder, then those that are known everywhere.
    pub registry: Registry,
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
        let runs = super::run::runs_of(path)?;
        let mut seen = seen(&runs, &mut left_out);
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
            runs,
            registry,
            left_out,
        })
    }

    /// Leaves out what a run has not seen.
    pub fn keep_run(&mut self, run: &str) {
        self.runs.retain(|kept| kept.name() == run);
        let is_by = |seen: &SeenInRun| seen.run == run;
        self.groups.retain(|group| group.seen.iter().any(is_by));
    }
}

/// What the runs of a folder saw, by signature.
fn seen(runs: &[RunInFolder], left_out: &mut Vec<String>) -> BTreeMap<String, Vec<SeenInRun>> {
    let mut seen: BTreeMap<String, Vec<SeenInRun>> = BTreeMap::new();
    for run in runs {
        let checkpoint = match &run.checkpoint {
            Ok(checkpoint) => checkpoint,
            Err(error) => {
                left_out.push(format!("sightings of a run are not counted: {error}"));
                continue;
            }
        };
        for (id, sightings) in checkpoint.ledger.groups() {
            seen.entry(id.to_owned()).or_default().push(SeenInRun {
                run: run.name(),
                server: checkpoint.server.clone(),
                seed: checkpoint.settings.seed,
                sightings: sightings.clone(),
            });
        }
    }
    seen
}
