//! The lines of `--format json`.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Confirmation, ReplayReport};
use crate::model::Verdict;

/// The line of one file, with how its confirmation ended where one was asked for.
pub fn replayed(report: &ReplayReport, confirmation: Option<Confirmation>) -> String {
    let oracles: BTreeMap<&str, _> = report
        .voices
        .iter()
        .map(|voice| {
            let said = json!({
                "agree": voice.agreed,
                "known": voice.known,
                "undecided": voice.undecided,
                "violation": voice.violations,
                "reason": voice.reason(),
            });
            (voice.name.as_str(), said)
        })
        .collect();
    json!({
        "v": 1,
        "event": "replayed",
        "file": report.file,
        "verdict": report.verdict.word(),
        "known_id": report.known_id(),
        "oracle": report.oracle,
        "kind": report.kind,
        "signature": report.finding.as_ref().map(|finding| finding.signature.id().to_string()),
        "hits": report.hits,
        "runs": report.runs,
        "reason": match &report.verdict {
            Verdict::Undecided(reason) => Some(reason.slug()),
            Verdict::Agree | Verdict::Known(_) | Verdict::Flaky { .. } | Verdict::Violation(_) => None,
        },
        "could_not_run": report.could_not_run,
        "unexpected_rejections": report
            .rejections
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        "oracles": oracles,
        "confirmation": confirmation.map(Confirmation::word),
        "obstacles": report
            .obstacles()
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        "regression_of": report.regression_of,
        "headline": report.finding.as_ref().map(|finding| &finding.headline),
    })
    .to_string()
}

/// The line of a file that was not replayed: it cannot be read, or is not safe to run.
pub fn skipped(file: &str, reason: &str) -> String {
    json!({
        "v": 1,
        "event": "skipped",
        "file": file,
        "reason": reason,
    })
    .to_string()
}

/// The last line: how many files have which verdict. `skipped`: files that were not replayed.
pub fn summary(target: &str, reports: &[ReplayReport], skipped: usize) -> String {
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
        "skipped": skipped,
        "verdicts": verdicts,
        "could_not_run": reports.iter().filter(|r| r.could_not_run.is_some()).count(),
    })
    .to_string()
}
