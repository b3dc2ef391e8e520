//! What the JSON beside a case file tells of the finding and of the run that showed it, for people who look
//! at it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::{CaseFile, Tag};
use crate::model::{StatementId, Tick};

/// When a statement was under way in the run that was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementSpan {
    pub sent: Tick,
    pub answered: Tick,
    /// It was seen waiting for a lock in between.
    pub waited: bool,
}

/// The finding of a case file with the times of its run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaseEvidence {
    /// What is wrong, in one line.
    pub headline: String,
    /// Why the oracle holds its account for the right one.
    pub explanation: Vec<String>,
    /// By statement; what was not sent is missing.
    pub spans: BTreeMap<StatementId, StatementSpan>,
}

#[derive(Deserialize)]
struct RawEvidence {
    case: RawStatements,
    finding: Option<RawExplained>,
    execution: Option<RawRecords>,
}

#[derive(Deserialize)]
struct RawStatements {
    statements: Vec<RawStatement>,
}

#[derive(Deserialize)]
struct RawStatement {
    id: String,
    sql: String,
}

#[derive(Deserialize)]
struct RawExplained {
    headline: String,
    explanation: Vec<String>,
}

#[derive(Deserialize)]
struct RawRecords {
    records: Vec<RawSpan>,
}

#[derive(Deserialize)]
struct RawSpan {
    id: String,
    sent: u32,
    waiting: Option<u32>,
    answered: u32,
}

/// Reads what stands beside a case file. None where there is nothing that can be read, or where it is about
/// another case: somebody has edited the file since.
pub fn load_evidence(path: &Path, file: &CaseFile) -> Option<CaseEvidence> {
    let text = std::fs::read_to_string(path.with_extension("json")).ok()?;
    let raw: RawEvidence = serde_json::from_str(&text).ok()?;
    let told = raw.case.statements.iter();
    let told = told.map(|statement| (Some(statement.id.clone()), bare(&statement.sql)));
    let lines = file
        .lines
        .iter()
        .filter(|line| matches!(line.tag, Tag::Session(_)));
    let read = lines.map(|line| (line.number.map(|id| id.to_string()), bare(&line.sql)));
    if !told.eq(read) {
        return None;
    }
    let finding = raw.finding?;
    let records = raw.execution.map(|execution| execution.records);
    let spans = records.into_iter().flatten().filter_map(|record| {
        let span = StatementSpan {
            sent: Tick(record.sent),
            answered: Tick(record.answered),
            waited: record.waiting.is_some(),
        };
        Some((record.id.parse().ok()?, span))
    });
    Some(CaseEvidence {
        headline: finding.headline,
        explanation: finding.explanation,
        spans: spans.collect(),
    })
}

/// A statement without blanks and semicolons around it.
fn bare(sql: &str) -> String {
    sql.trim().trim_end_matches(';').trim_end().to_owned()
}
