//! Lines of `fuzz --format json` against the schema in `docs/`.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::program::{folder, run, shown};
use crate::servers::{Needs, url};

fn schema() -> Json {
    serde_json::from_str(include_str!("../../docs/events.schema.json")).expect("JSON")
}

fn validator() -> jsonschema::Validator {
    jsonschema::draft202012::new(&schema()).expect("a schema of draft 2020-12")
}

/// The fields that the schema names for an event.
fn fields(event: &Json) -> BTreeSet<String> {
    let schema = schema();
    let mut events = schema["$defs"].as_object().expect("definitions").values();
    let of_event = events.find(|of| {
        let named = &of["properties"]["event"];
        let mut several = named["enum"].as_array().into_iter().flatten();
        named["const"] == *event || several.any(|one| one == event)
    });
    let of_event = of_event.unwrap_or_else(|| panic!("{event} is not described"));
    let properties = of_event["properties"].as_object().expect("fields");
    properties.keys().cloned().collect()
}

/// Holds lines to the schema: each is valid, and has the fields that are named and no others. Returns their
/// events.
pub(crate) fn assert_described(out: &str) -> BTreeSet<String> {
    let validator = validator();
    let mut events = BTreeSet::new();
    for line in out.lines() {
        let line: Json = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        let errors: Vec<String> = validator
            .iter_errors(&line)
            .map(|e| e.to_string())
            .collect();
        assert_eq!(errors, [""; 0], "{line}");
        let told: BTreeSet<String> = line
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect();
        let named = fields(&line["event"]);
        assert_eq!(told, named, "{line}");
        events.insert(line["event"].as_str().expect("a name").to_owned());
    }
    events
}

#[test]
fn every_line_of_runs_is_as_the_schema_says() {
    let out = folder();
    let to = shown(out.path());
    let finds = [
        "fuzz",
        "sqlite:",
        "--cases",
        "20",
        "--seed",
        "3",
        "--out",
        &to,
        "--explain-grammar",
        "--format",
        "json",
    ];
    let ran = run(&finds);
    let events = assert_described(&ran.out);
    let expected = ["grammar", "started", "summary"].map(str::to_owned);
    assert!(
        events.is_superset(&expected.into()),
        "{events:?}: {}",
        ran.err
    );
}

#[test]
fn the_findings_of_a_run_are_as_the_schema_says() {
    let Some(url) = url(
        "the_findings_of_a_run_are_as_the_schema_says",
        Needs::MariaDb,
    ) else {
        return;
    };
    let out = folder();
    let to = shown(out.path());
    let ran = run(&[
        "fuzz",
        &url,
        "--isolation",
        "read-committed",
        "--claim",
        "serializable",
        "--cases",
        "12",
        "--seed",
        "5",
        "--out",
        &to,
        "--allow-shared-server",
        "--format",
        "json",
    ]);
    let events = assert_described(&ran.out);
    assert!(events.contains("finding"), "{events:?}: {}", ran.err);
}

#[test]
fn a_line_that_is_not_as_the_schema_says_is_caught() {
    let validator = validator();
    let lost =
        json!({ "v": 1, "event": "server-lost", "unix_s": 5, "index": null, "error": "gone" });
    assert!(validator.is_valid(&lost));
    for (field, wrong) in [
        ("v", json!(2)),
        ("event", json!("server-found")),
        ("unix_s", json!("now")),
        ("index", json!(-1)),
        ("error", Json::Null),
    ] {
        let mut line = lost.clone();
        line[field] = wrong;
        assert!(!validator.is_valid(&line), "{line}");
    }
    let mut line = lost.clone();
    line.as_object_mut().expect("an object").remove("error");
    assert!(!validator.is_valid(&line), "{line}");
}
