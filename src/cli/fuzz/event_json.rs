//! The events of a run as lines of JSON: `docs/running.md` documents every field.

use serde_json::json;

use crate::campaign::{Announcement, RunEvent, unix_seconds};

/// One event.
pub(super) fn event_json(event: &RunEvent) -> serde_json::Value {
    let now = unix_seconds();
    let announced = |word: &str, found: &Announcement| {
        json!({
            "v": 1,
            "event": word,
            "unix_s": now,
            "path": found.path.display().to_string(),
            "signature": found.signature,
            "anomaly": found.anomaly,
            "oracle": found.oracle,
            "kind": found.kind,
            "headline": found.headline,
            "hits": found.hits,
            "runs": found.runs,
            "index": found.index,
            "transactions": found.transactions,
            "statements": found.statements,
            "regression": found.regression,
        })
    };
    match event {
        RunEvent::Finding(found) => announced("finding", found),
        RunEvent::Smaller(found) => announced("smaller", found),
        RunEvent::Flaky(found) => announced("flaky", found),
        RunEvent::ServerLost { index, error, .. } => {
            json!({ "v": 1, "event": "server-lost", "unix_s": now, "index": index, "error": error })
        }
        RunEvent::ServerBack { after, .. } => {
            json!({ "v": 1, "event": "server-back", "unix_s": now, "after_s": after.as_secs_f64() })
        }
        RunEvent::Unstable { index, difference } => {
            json!({ "v": 1, "event": "unstable", "unix_s": now, "index": index, "difference": difference })
        }
        RunEvent::Stopping => json!({ "v": 1, "event": "stopping", "unix_s": now }),
        RunEvent::Trouble(text) => {
            json!({ "v": 1, "event": "trouble", "unix_s": now, "text": text })
        }
    }
}
