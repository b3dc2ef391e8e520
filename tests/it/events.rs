//! Lines of `fuzz --format json` against the schema in `docs/`.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::program::{folder, run, shown};
use crate::schemas::{LineSchema, optional, parsed};
use crate::servers::{Needs, url};

const SCHEMA: &str = include_str!("../../docs/events.schema.json");

/// Holds lines of `fuzz` to its schema. Returns their events.
pub(crate) fn assert_described(out: &str) -> BTreeSet<String> {
    LineSchema::of(SCHEMA, None).assert_describes(out)
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
    let schema = LineSchema::of(SCHEMA, None);
    let lost =
        json!({ "v": 1, "event": "server-lost", "unix_s": 5, "index": null, "error": "gone" });
    assert!(schema.open().is_valid(&lost));
    for (field, wrong) in [
        ("v", json!(2)),
        ("event", json!("server-found")),
        ("unix_s", json!("now")),
        ("index", json!(-1)),
        ("error", Json::Null),
    ] {
        let mut line = lost.clone();
        line[field] = wrong;
        assert!(!schema.open().is_valid(&line), "{line}");
    }
    let mut line = lost.clone();
    line.as_object_mut().expect("an object").remove("error");
    assert!(!schema.open().is_valid(&line), "{line}");
}

/// Consumers pass over a field that they do not know; these tests do not.
#[test]
fn a_field_that_the_schema_does_not_name_is_caught_and_breaks_no_consumer() {
    let schema = LineSchema::of(SCHEMA, None);
    let of =
        |sent: Json| json!({ "v": 1, "event": "grammar", "productions": { "insert#1": sent } });
    let named = of(json!({ "accepted": 1, "sent": 2 }));
    assert_eq!(schema.complaints(&named), [""; 0]);
    let mut other = named.clone();
    other["more"] = json!(1);
    for other in [other, of(json!({ "accepted": 1, "sent": 2, "more": 1 }))] {
        assert!(schema.open().is_valid(&other), "{other}");
        let complaints = schema.complaints(&other);
        assert!(
            complaints.len() == 1 && complaints[0].contains("'more'"),
            "{complaints:?}"
        );
    }
}

#[test]
fn a_line_has_every_field_but_these() {
    let optional = optional(&parsed(SCHEMA));
    let known = ["grammar.productions.meant_to_fail"];
    assert_eq!(optional, known.map(str::to_owned).into());
}
