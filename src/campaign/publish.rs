//! The folders of the output, and the files of findings in them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};

use super::comparison::{Parting, told};
use super::event::Announcement;
use super::ledger::Ledger;
use super::settings::{RunSettings, SettingsRecord};
use super::shared::Shared;
use crate::engine::Identity;
use crate::model::{Execution, Finding, TestCase, TransactionId};
use crate::reproducer::{self, CaseFile, Note, PublishError, Reproduced, Sidecar};

/// What a file says of a case that was not made as small as it goes, for want of time.
pub(super) const TIME_WAS_OVER: &str =
    "the case may be larger than it needs to be: the time for making it smaller was over";

/// What it says of one that takes the server down.
pub(super) const AS_FOUND: &str = "the case is as it was found: `rashomon minimize` makes it smaller, on a server that is started again whenever it ends";

/// The parts of a reproducer.
pub(super) struct Reproducer<'a> {
    pub case: &'a TestCase,
    pub finding: &'a Finding,
    /// A run that shows the finding.
    pub execution: &'a Execution,
    pub reproduced: Reproduced,
    /// What its file says of its size.
    pub remark: Option<&'static str>,
    /// The case it was found in.
    pub index: u64,
}

impl Announcement {
    /// Of what was published at a path.
    pub(super) fn of(
        of: &Reproducer<'_>,
        settings: &RunSettings,
        path: PathBuf,
        regression: Option<String>,
    ) -> Self {
        let statements = &of.case.statements;
        let transactions: BTreeSet<TransactionId> = statements
            .iter()
            .map(|statement| statement.id.transaction)
            .collect();
        Self {
            path,
            target: settings.target.to_string(),
            signature: of.finding.signature.id(),
            anomaly: of.finding.signature.anomaly.slug().to_owned(),
            oracle: of.finding.signature.oracle.clone(),
            kind: of.finding.signature.kind.slug().to_owned(),
            headline: of.finding.headline.clone(),
            hits: of.reproduced.hits,
            runs: of.reproduced.runs,
            index: of.index,
            statements: of.case.user_statements().count(),
            transactions: transactions.len(),
            regression,
        }
    }
}

/// Publishes a finding as `<out>/<engine>/<slug>.sql`.
pub(super) fn publish(
    shared: &Shared,
    reproducer: &Reproducer<'_>,
) -> Result<PathBuf, PublishError> {
    let stem = reproducer::file_stem(&reproducer.finding.signature);
    write(
        shared,
        &shared.settings.out.join(&shared.identity.engine),
        &stem,
        reproducer,
    )
}

/// Keeps a confirmed finding as it was found, until its minimized case is published.
pub(super) fn keep_raw(
    shared: &Shared,
    reproducer: &Reproducer<'_>,
) -> Result<PathBuf, PublishError> {
    let folder = shared.settings.folder().join("unminimized");
    write(
        shared,
        &folder,
        &format!("case-{}", reproducer.index),
        reproducer,
    )
}

/// Publishes a finding that does not show in every run as `<out>/flaky/<slug>.sql`.
pub(super) fn publish_flaky(
    shared: &Shared,
    reproducer: &Reproducer<'_>,
) -> Result<PathBuf, PublishError> {
    let stem = reproducer::file_stem(&reproducer.finding.signature);
    write(
        shared,
        &shared.settings.out.join("flaky"),
        &stem,
        reproducer,
    )
}

/// Keeps a case during which the server was lost.
pub(super) fn keep_suspect(
    shared: &Shared,
    case: &TestCase,
    index: u64,
    error: &str,
) -> Result<PathBuf, PublishError> {
    let mut file = CaseFile::of_case(case);
    file.header.engine = Some(shared.identity.engine.clone());
    file.header.seen_on = vec![shared.identity.version_text.clone()];
    file.header.seed = Some(seed_of(shared, index));
    file.last_comments.push(format!(
        "the server was lost: {}",
        error.replace(['\n', '\r'], " ")
    ));
    let sidecar = reproducer::sidecar(&Sidecar {
        server: &shared.identity,
        case,
        finding: None,
        execution: None,
        run: run_data(shared, index),
    });
    let folder = shared.settings.folder().join("suspects");
    reproducer::publish(&folder, &format!("case-{index}"), &file, &sidecar)
}

/// Keeps a case in which the counterpart did something else: what this server did, and beside the
/// statement what the other one did.
pub(super) fn keep_difference(
    shared: &Shared,
    (case, execution, parting): (&TestCase, &Execution, &Parting),
    (there, index): (&Identity, u64),
    shape: &str,
) -> Result<PathBuf, PublishError> {
    let mut file = CaseFile::of_run(case, execution, &shared.identity);
    file.header.seed = Some(seed_of(shared, index));
    let lines = file.lines.iter_mut();
    for line in lines.filter(|line| parting.statement.is_some() && line.number == parting.statement)
    {
        line.notes.push(Note::new("counterpart", &parting.second));
    }
    let said = told(parting, &shared.identity, there).replace(['\n', '\r'], " ");
    file.last_comments.push(said);
    let sidecar = reproducer::sidecar(&Sidecar {
        server: &shared.identity,
        case,
        finding: None,
        execution: Some(execution),
        run: run_data(shared, index),
    });
    let folder = shared.settings.folder().join("differences");
    reproducer::publish(&folder, shape, &file, &sidecar)
}

/// Removes a file that a published one replaces. A file that stays does no harm.
pub(super) fn discard(path: &Path) {
    for path in [path.to_owned(), path.with_extension("json")] {
        if let Err(error) = std::fs::remove_file(&path) {
            tracing::debug!("{} stays: {error}", path.display());
        }
    }
}

fn write(
    shared: &Shared,
    folder: &Path,
    stem: &str,
    reproducer: &Reproducer<'_>,
) -> Result<PathBuf, PublishError> {
    let mut file = CaseFile::of_finding(
        reproducer.case,
        reproducer.finding,
        reproducer.execution,
        &shared.identity,
        &seed_of(shared, reproducer.index),
        reproducer.reproduced,
    );
    let remark = reproducer.remark.map(str::to_owned);
    file.header.comments.last.extend(remark);
    let sidecar = reproducer::sidecar(&Sidecar {
        server: &shared.identity,
        case: reproducer.case,
        finding: Some(reproducer.finding),
        execution: Some(reproducer.execution),
        run: run_data(shared, reproducer.index),
    });
    reproducer::publish(folder, stem, &file, &sidecar)
}

/// As headers spell it, and as `--seed` and `--case` take it.
fn seed_of(shared: &Shared, index: u64) -> String {
    format!("{}:{index}", shared.settings.seed)
}

fn run_data(shared: &Shared, index: u64) -> Map<String, Json> {
    let settings = SettingsRecord::from(&shared.settings);
    let mut data = Map::new();
    data.insert("seed".to_owned(), json!(shared.settings.seed));
    data.insert("index".to_owned(), json!(index));
    data.insert(
        "settings".to_owned(),
        serde_json::to_value(settings).unwrap_or(Json::Null),
    );
    data
}

/// Removes torn files of earlier runs, and notes the signatures that they published.
pub(super) fn adopt(
    settings: &RunSettings,
    engine: &str,
    ledger: &mut Ledger,
) -> Result<(), PublishError> {
    let folder = settings.out.join(engine);
    for folder in [
        &folder,
        &settings.out.join("flaky"),
        &settings.folder().join("unminimized"),
        &settings.folder().join("suspects"),
        &settings.folder().join("differences"),
    ] {
        reproducer::sweep(folder)?;
    }
    let Ok(entries) = std::fs::read_dir(&folder) else {
        return Ok(());
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    for path in paths
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e == "sql"))
    {
        match reproducer::load(path) {
            Ok(file) => {
                if let Some(signature) = &file.header.signature {
                    let size = file.lines.len() as u64;
                    ledger.adopt(signature, &path.display().to_string(), size);
                }
            }
            // A person may be editing it. Its finding would only be published again.
            Err(error) => tracing::warn!("{error}"),
        }
    }
    Ok(())
}

/// Statements of a case, set-up included. Of two reproducers of a signature the smaller is kept.
pub(super) fn size_of(case: &TestCase) -> u64 {
    (case.setup.len() + case.statements.len()) as u64
}
