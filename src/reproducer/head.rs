//! What a list of findings shows of a case file, without reading its statements.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{CaseFile, FormatError, Isolation, Reproduced, reader};
use crate::engine::Identity;
use crate::model::{AnomalyClass, FindingKind, Signature};

/// A case file of a finding, in brief.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseHead {
    pub path: PathBuf,
    /// The server that showed it.
    pub server: Identity,
    /// The identifier of its signature, as this program computes it.
    pub id: String,
    /// The whole signature; none of a file without its JSON.
    pub signature: Option<Signature>,
    pub anomaly: String,
    /// `READ COMMITTED claimed SERIALIZABLE`.
    pub levels: String,
    /// What is wrong, in a sentence.
    pub headline: String,
    /// Statements of its sessions, BEGIN and COMMIT included.
    pub statements: usize,
    pub reproduced: Option<Reproduced>,
    /// `run seed:case index`.
    pub seed: Option<String>,
    /// The registered behaviour that the header names.
    pub known: Option<String>,
}

/// The sidecar, as far as it is needed here.
#[derive(Deserialize)]
struct RawSidecar {
    server: RawServer,
    case: RawCase,
    finding: Option<RawFinding>,
}

#[derive(Deserialize)]
struct RawServer {
    engine: String,
    version: String,
    variables: std::collections::BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct RawCase {
    statements: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct RawFinding {
    signature: RawSignature,
    headline: String,
}

#[derive(Deserialize)]
struct RawSignature {
    /// None in a file of an older program.
    anomaly: Option<String>,
    oracle: String,
    kind: String,
    levels: Vec<String>,
    features: Vec<String>,
}

impl RawSignature {
    fn signature(self) -> Option<Signature> {
        let kind = FindingKind::from_slug(&self.kind)?;
        let signature = Signature::new(self.oracle, kind, self.levels, self.features);
        Some(match self.anomaly {
            Some(anomaly) => signature.with_anomaly(AnomalyClass::from_slug(&anomaly)?),
            None => signature,
        })
    }
}

/// Reads a case file in brief: from the JSON beside it, else from its header.
///
/// # Errors
/// When the file cannot be read, or has no JSON beside it and is no case or no finding.
pub fn load_head(path: &Path) -> Result<CaseHead, FormatError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|cause| FormatError {
        file: name.clone(),
        line: 1,
        column: 1,
        message: format!("cannot read the file: {cause}"),
    })?;
    let beside = std::fs::read_to_string(path.with_extension("json")).ok();
    let raw = beside.and_then(|json| serde_json::from_str::<RawSidecar>(&json).ok());
    match raw.and_then(|raw| of_sidecar(path, &text, raw)) {
        Some(head) => Ok(head),
        None => of_header(path, &reader::read(&text, &name)?).ok_or_else(|| FormatError {
            file: name,
            line: 1,
            column: 1,
            message: "the header names no signature, engine and kind: no finding of a run"
                .to_owned(),
        }),
    }
}

fn of_sidecar(path: &Path, text: &str, raw: RawSidecar) -> Option<CaseHead> {
    let RawFinding {
        signature,
        headline,
    } = raw.finding?;
    let signature = signature.signature()?;
    let reproduced = header_value(text, "reproduced").and_then(|value| {
        let (hits, runs) = value.split_once('/')?;
        Some(Reproduced {
            hits: hits.parse().ok()?,
            runs: runs.parse().ok()?,
        })
    });
    Some(CaseHead {
        path: path.to_owned(),
        server: identity(raw.server.engine, raw.server.version, raw.server.variables)?,
        id: signature.id(),
        anomaly: signature.anomaly.to_string(),
        levels: signature.levels.join(", "),
        signature: Some(signature),
        headline,
        statements: raw.case.statements.len(),
        reproduced,
        seed: header_value(text, "seed"),
        known: header_value(text, "known"),
    })
}

fn of_header(path: &Path, file: &CaseFile) -> Option<CaseHead> {
    let header = &file.header;
    let kind = FindingKind::from_slug(header.kind.as_deref()?)?;
    let anomaly = match &header.anomaly {
        Some(anomaly) => anomaly.clone(),
        None => AnomalyClass::of(kind, None).to_string(),
    };
    let mut levels: Vec<String> = match &header.isolation {
        Isolation::All(level) => vec![level.to_string()],
        Isolation::Each(levels) => levels.values().map(ToString::to_string).collect(),
    };
    levels.dedup();
    if let Some(claim) = header.claim {
        for level in levels
            .iter_mut()
            .filter(|level| **level != claim.to_string())
        {
            level.push_str(&format!(" claimed {claim}"));
        }
    }
    let version = header.seen_on.first().cloned().unwrap_or_default();
    let headline = header.comments.last.first().cloned();
    Some(CaseHead {
        path: path.to_owned(),
        server: identity(header.engine.clone()?, version, header.variables.clone())?,
        id: header.signature.clone()?,
        signature: None,
        anomaly,
        levels: levels.join(", "),
        headline: headline.unwrap_or_else(|| kind.to_string()),
        statements: file
            .levels()
            .keys()
            .map(|s| file.tagged(super::Tag::Session(*s)).count())
            .sum(),
        reproduced: header.reproduced,
        seed: header.seed.clone(),
        known: header.known.clone(),
    })
}

fn identity(
    engine: String,
    version_text: String,
    variables: std::collections::BTreeMap<String, String>,
) -> Option<Identity> {
    Some(Identity {
        engine,
        version: version_text.parse().ok()?,
        version_text,
        variables,
        session_setup: Vec::new(),
        isolation_setup: std::collections::BTreeMap::new(),
    })
}

/// The text of a key of the header that holds a plain string.
fn header_value(text: &str, key: &str) -> Option<String> {
    let lines = text.lines().take_while(|line| line.starts_with("--!"));
    let mut lines = lines.filter_map(|line| line.strip_prefix("--! "));
    let line = lines.find(|line| {
        let rest = line.strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start().starts_with('='))
    })?;
    let table: toml::Table = toml::from_str(line).ok()?;
    Some(table.get(key)?.as_str()?.to_owned())
}
