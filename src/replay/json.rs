//! The lines of `--format json`.

use std::collections::BTreeMap;

use serde_json::json;

use super::ReplayReport;

/// The line of one file.
pub fn replayed(report: &ReplayReport) -> String {
    json!({
        "v": 1,
        "event": "replayed",
        "file": report.file,
        "verdict": report.verdict.word(),
        "known_id": report.known_id(),
        "oracle": report.oracle,
        "kind": report.kind,
        "hits": report.hits,
        "runs": report.runs,
        "reason": match &report.verdict {
            crate::model::Verdict::Undecided(reason) => Some(reason),
            _ => None,
        },
        "could_not_run": report.could_not_run,
        "regression_of": report.regression_of,
        "headline": report.finding.as_ref().map(|finding| &finding.headline),
    })
    .to_string()
}

/// The last line: how many files came to which verdict.
pub fn summary(target: &str, reports: &[ReplayReport]) -> String {
    let mut verdicts: BTreeMap<&str, u32> = ["agree", "known", "undecided", "flaky", "violation"]
        .map(|word| (word, 0))
        .into();
    for report in reports {
        *verdicts.entry(report.verdict.word()).or_default() += 1;
    }
    json!({
        "v": 1,
        "event": "summary",
        "target": target,
        "files": reports.len(),
        "verdicts": verdicts,
        "could_not_run": reports.iter().filter(|r| r.could_not_run.is_some()).count(),
    })
    .to_string()
}
