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
            "target": found.target,
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
        RunEvent::Differs {
            index,
            shape,
            difference,
            path,
        } => json!({
            "v": 1, "event": "differs", "unix_s": now, "index": index, "shape": shape,
            "difference": difference, "path": path.display().to_string(),
        }),
        RunEvent::CanaryUnheard { index, oracles } => json!({
            "v": 1, "event": "canary-unheard", "unix_s": now, "index": index, "oracles": oracles,
        }),
        RunEvent::Stopping(cause) => json!({
            "v": 1, "event": "stopping", "unix_s": now, "cause": cause.slug(),
        }),
        RunEvent::Trouble(text) => {
            json!({ "v": 1, "event": "trouble", "unix_s": now, "text": text })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;
    use crate::campaign::StopCause;

    #[test]
    fn every_event_is_as_the_schema_says() {
        let schema = include_str!("../../../docs/events.schema.json");
        let schema = serde_json::from_str(schema).expect("JSON");
        let validator = jsonschema::draft202012::new(&schema).expect("a schema");
        let found = |regression: Option<&str>| Announcement {
            path: PathBuf::from("out/mariadb/phantom-0123abcd.sql"),
            target: "mariadb://root@127.0.0.1".to_owned(),
            signature: "0123abcd".to_owned(),
            anomaly: "phantom".to_owned(),
            oracle: "serial".to_owned(),
            kind: "not-serializable".to_owned(),
            headline: "wrong".to_owned(),
            hits: 1,
            runs: 3,
            index: 7,
            statements: 4,
            transactions: 2,
            regression: regression.map(str::to_owned),
        };
        for event in [
            RunEvent::Finding(found(None)),
            RunEvent::Smaller(found(Some("MDEV-1"))),
            RunEvent::Flaky(found(None)),
            RunEvent::ServerLost {
                worker: 0,
                index: None,
                error: "gone".to_owned(),
            },
            RunEvent::ServerBack {
                worker: 0,
                after: Duration::from_millis(1_500),
            },
            RunEvent::Unstable {
                index: 3,
                difference: "rows".to_owned(),
            },
            RunEvent::Differs {
                index: 3,
                shape: "waits-update".to_owned(),
                difference: "T1.2: one waits; the other is answered".to_owned(),
                path: PathBuf::from("out/runs/0123abcd/differences/waits-update.sql"),
            },
            RunEvent::CanaryUnheard {
                index: 9_999,
                oracles: vec!["serial".to_owned()],
            },
            RunEvent::Stopping(StopCause::Signal),
            RunEvent::Stopping(StopCause::TimeOver),
            RunEvent::Trouble("disk full".to_owned()),
        ] {
            let line = event_json(&event);
            let errors: Vec<String> = validator
                .iter_errors(&line)
                .map(|e| e.to_string())
                .collect();
            assert_eq!(errors, [""; 0], "{line}");
        }
    }
}
