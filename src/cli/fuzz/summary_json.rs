//! The end of a run as the last line of `--format json`: a contract, which `docs/running.md` documents.

use serde_json::{Map, Value as Json, json};

use super::figures::rate;
use crate::campaign::{RunSummary, Share};
use crate::cli::quantity::{json_seconds, rounded};

/// The last line.
pub(super) fn machine(summary: &RunSummary) -> Json {
    let statistics = &summary.statistics;
    let verdicts = &statistics.verdicts;
    let by_level: Map<String, Json> = statistics
        .tested_committed
        .iter()
        .map(|(level, share)| (level.clone(), json!(three_digits(*share))))
        .collect();
    let reproducers: Vec<&String> = summary.findings.iter().map(|found| &found.path).collect();
    json!({
        "v": 1,
        "event": "summary",
        "target": summary.identity.in_short(),
        "seed": summary.settings.seed,
        "cases": verdicts.total(),
        "verdicts": verdicts,
        "statements": statistics.statements_sent,
        "blocked": statistics.blocked,
        "deadlocks": statistics.deadlocks,
        "elapsed_s": json_seconds(summary.elapsed),
        "cases_per_s": rounded(rate(verdicts.total(), summary.elapsed), 1),
        "tested_share": three_digits(statistics.tested),
        "reproducers": reproducers,
        "known": statistics.known,
        "undecided": statistics.undecided,
        "tested_share_committed": by_level,
        "acyclic_share": three_digits(statistics.acyclic),
        "oracles": statistics.oracles,
        "inapplicable": statistics.inapplicable,
        "rejected": statistics.rejected,
        "duplicates": statistics.duplicates,
        "unminimized": statistics.unminimized,
        "compared": compared_json(summary),
        "canaries": {
            "planted": statistics.canaries.planted,
            "unheard": statistics.canaries.unheard,
        },
        "server_losses": statistics.server_losses,
        "run": summary.settings.run_id,
        "next_index": summary.next_index,
        "failure": summary.problem(),
        "flaky": summary.flaky.iter().map(|found| &found.path).collect::<Vec<_>>(),
    })
}

/// What came of the second server; null where there is none.
fn compared_json(summary: &RunSummary) -> Option<Json> {
    let compared = &summary.statistics.compared;
    summary.settings.against.as_ref()?;
    Some(json!(compared))
}

fn three_digits(share: Share) -> Option<f64> {
    share.ratio().map(|ratio| rounded(ratio, 3))
}
