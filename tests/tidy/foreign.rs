//! Other crates, and the parts of the standard library that touch the world, are used where they
//! belong and nowhere else. Code for tests is left out.

use std::collections::BTreeSet;

use crate::resolve::{Program, Target};
use crate::tree::{Source, complain, program, root};

/// Where something from outside may be used.
struct Allowed {
    /// A crate as `Cargo.toml` names it, or a path below one.
    what: &'static str,
    /// Files and folders of `src/`.
    places: &'static [&'static str],
}

const fn allowed(what: &'static str, places: &'static [&'static str]) -> Allowed {
    Allowed { what, places }
}

/// Everything below `src/`.
const ANYWHERE: &[&str] = &[""];

/// One row for each dependency, and for what of the standard library has its place.
const ALLOWED: &[Allowed] = &[
    // Entropy and hashes: a case is a pure function of seed and index, and a witness one of its history.
    allowed("arbitrary", &["generate"]),
    allowed("rand_chacha", &["checker", "generate", "workload"]),
    allowed(
        "blake3",
        &["campaign", "generate", "minimize", "model", "workload"],
    ),
    // Solvers and threads.
    allowed("batsat", &["checker/algorithm"]),
    allowed("crossbeam-channel", &["campaign", "cli", "execute"]),
    // The command line alone knows terminals, arguments, signals, and prints.
    allowed("clap", &["cli"]),
    allowed("clap_complete", &["cli"]),
    allowed("clap_mangen", &["cli"]),
    allowed("indicatif", &["cli"]),
    allowed("ratatui", &["cli/triage/view"]),
    allowed("signal-hook", &["cli"]),
    allowed("tracing-subscriber", &["cli"]),
    // Pages: what is put into one is escaped by the macro, and what may run there is named by its hash.
    allowed("maud", &["report"]),
    allowed("base64", &["report"]),
    allowed("sha2", &["report"]),
    allowed("quick-xml", &["report"]),
    // Times and lines for people.
    allowed("humantime", &["report"]),
    allowed("textwrap", &["model/printable.rs"]),
    allowed("std::io::stderr", &["cli"]),
    allowed("std::io::stdin", &["cli"]),
    allowed("std::io::stdout", &["cli"]),
    allowed("std::process::exit", &["cli", "main.rs"]),
    // Clients of engines.
    allowed("futures-util", &["engine"]),
    allowed("mysql", &["engine"]),
    allowed("rusqlite", &["engine/simulated", "engine/sqlite"]),
    allowed("tokio", &["engine"]),
    allowed("tokio-postgres", &["engine"]),
    allowed("url", &["engine"]),
    allowed("std::net", &["cli", "engine"]),
    // `model`, `graph`, `history` and `checker` know no SQL; `safety` refuses statements.
    allowed("sqlparser", &["reproducer/safety", "statement"]),
    // Formats live in modules of their own: no type of `model` is `Serialize`.
    allowed(
        "serde",
        &["campaign", "cli", "dialect", "reproducer", "triage"],
    ),
    allowed(
        "serde_json",
        &["campaign", "cli", "replay", "reproducer", "triage"],
    ),
    allowed("toml", &["cli", "dialect", "reproducer"]),
    // Files.
    allowed("flate2", &["history/format/compressed.rs"]),
    allowed("memchr", &["history/format"]),
    allowed("ruzstd", &["history/format/compressed.rs"]),
    allowed("rustix", &["cli", "engine", "reproducer"]),
    allowed(
        "tempfile",
        &[
            "campaign",
            "checker/algorithm/aion",
            "cli",
            "engine",
            "execute/restart.rs",
            "reproducer",
        ],
    ),
    allowed(
        "std::fs",
        &[
            "campaign",
            "checker/algorithm/aion",
            "cli",
            "engine",
            "execute/restart.rs",
            "grammar",
            "history/format",
            "reproducer",
            "triage",
        ],
    ),
    // The environment and clocks decide nothing that a seed replays.
    allowed("std::env", &["cli", "engine"]),
    allowed(
        "std::thread",
        &[
            "calibrate",
            "campaign",
            "cli",
            "execute",
            "replay",
            "selftest",
            "workload",
        ],
    ),
    allowed(
        "std::time::Instant",
        &[
            "calibrate",
            "campaign",
            "checker",
            "cli",
            "engine",
            "execute",
            "minimize",
            "replay",
            "workload",
        ],
    ),
    allowed("std::time::SystemTime", &["campaign/wall_clock.rs", "cli"]),
    // Errors and the log.
    // The nearest known word to a misspelt one.
    allowed("strsim", &["cli", "dialect", "engine/simulated"]),
    allowed("thiserror", ANYWHERE),
    allowed(
        "tracing",
        &[
            "campaign", "cli", "engine", "execute", "minimize", "oracle", "replay",
        ],
    ),
];

/// `tokio-postgres` as code spells it.
fn segments(what: &str) -> Vec<String> {
    what.split("::")
        .map(|part| part.replace('-', "_"))
        .collect()
}

/// Whether a file of `src/` lies in one of the places.
fn lies_in(file: &str, places: &[&str]) -> bool {
    let below = file.strip_prefix("src/").unwrap_or(file);
    let inside = |place: &str| {
        let rest = below.strip_prefix(place);
        place.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    places.iter().any(|place| inside(place))
}

fn violations(sources: &[Source]) -> Vec<String> {
    let crates: Vec<&str> = ALLOWED.iter().map(|allowed| allowed.what).collect();
    let program = Program::new(sources, &crates);
    let mut complaints = Vec::new();
    for used in program.used().filter(|used| !used.test) {
        let Target::Outside(path) = &used.target else {
            continue;
        };
        let is_glob = used.import.is_some_and(|import| import.alias.is_none());
        for Allowed { what, places } in ALLOWED {
            let wanted = segments(what);
            let names_it = path.starts_with(&wanted) || is_glob && wanted.starts_with(path);
            if names_it && !lies_in(&used.by.file, places) {
                let at = used.at();
                complaints.push(format!("{at}: {what} has no business here: {places:?}"));
            }
        }
    }
    complaints
}

/// The dependencies of a `Cargo.toml`, those for tests left out.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let manifest: toml::Table = manifest.parse().expect("a manifest");
    let table = manifest.get("dependencies").and_then(toml::Value::as_table);
    table
        .into_iter()
        .flat_map(|table| table.keys().cloned())
        .collect()
}

/// Dependencies without a row, and rows without a dependency.
fn unlisted(dependencies: &BTreeSet<String>) -> Vec<String> {
    let listed: BTreeSet<String> = ALLOWED
        .iter()
        .map(|allowed| allowed.what.to_owned())
        .filter(|what| !what.contains("::"))
        .collect();
    let without_row = dependencies.difference(&listed);
    let without_use = listed.difference(dependencies);
    without_row
        .map(|name| format!("{name}: say in tests/tidy/foreign.rs where it may be used"))
        .chain(without_use.map(|name| format!("{name}: a row of foreign.rs, not in Cargo.toml")))
        .collect()
}

/// Dependencies that no source names.
fn unused(sources: &[Source], dependencies: &BTreeSet<String>) -> Vec<String> {
    let crates: Vec<&str> = dependencies.iter().map(String::as_str).collect();
    let program = Program::new(sources, &crates);
    let named: BTreeSet<String> = program
        .used()
        .filter_map(|used| match used.target {
            Target::Outside(path) => path.into_iter().next(),
            Target::Inside(_) => None,
        })
        .collect();
    dependencies
        .iter()
        .filter(|name| !named.contains(&name.replace('-', "_")))
        .map(|name| format!("{name}: nothing in src/ uses it; remove it from Cargo.toml"))
        .collect()
}

#[test]
fn other_crates_are_used_where_they_belong() {
    complain(&violations(&program()));
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("Cargo.toml");
    let dependencies = dependencies(&manifest);
    complain(&unlisted(&dependencies));
    complain(&unused(&program(), &dependencies));
}

#[test]
fn a_crate_out_of_its_place_is_caught_in_every_spelling() {
    for (file, text) in [
        ("src/oracle/serial.rs", "use rusqlite::Connection;"),
        (
            "src/oracle/serial.rs",
            "fn f() { ::tokio_postgres::connect() }",
        ),
        ("src/engine/sqlite2.rs", "pub use rusqlite as lite;"),
        (
            "src/model/case.rs",
            "use std::{\n    fmt,\n    fs::File,\n};",
        ),
        (
            "src/model/case.rs",
            "use std::time; fn f() { time::Instant::now() }",
        ),
        ("src/model/case.rs", "use std::time::*;"),
        ("src/model/case.rs", "#[derive(serde::Serialize)] struct A;"),
        (
            "src/model/case.rs",
            "fn f() { std::net::TcpStream::connect() }",
        ),
        ("src/campaign/mod.rs", "use clap::Parser;"),
        (
            "src/campaign/mod.rs",
            "use std::io; fn f() { io::stdout() }",
        ),
    ] {
        assert!(
            !violations(&[Source::new(file, text)]).is_empty(),
            "{file}: {text}"
        );
    }
}

#[test]
fn what_is_in_its_place_in_tests_or_in_prose_is_allowed() {
    for (file, text) in [
        (
            "src/engine/sqlite/store.rs",
            "use rusqlite::Connection; use std::fs;",
        ),
        (
            "src/model/case.rs",
            "use std::time::Duration; use std::io::Write;",
        ),
        (
            "src/model/case.rs",
            "// std::fs\nconst A: &str = \"std::fs::read\"; use crate::model::fs;",
        ),
        (
            "src/oracle/mod.rs",
            "#[cfg(test)] mod tests { use std::fs; }",
        ),
        ("src/main.rs", "fn main() { std::process::exit(1) }"),
    ] {
        assert_eq!(
            violations(&[Source::new(file, text)]),
            [""; 0],
            "{file}: {text}"
        );
    }
}

#[test]
fn a_dependency_without_a_row_is_caught() {
    let every: Vec<String> = ALLOWED
        .iter()
        .filter(|allowed| !allowed.what.contains("::"))
        .map(|allowed| format!("{} = \"1\"", allowed.what))
        .collect();
    let manifest = format!("[dependencies]\n{}\n", every.join("\n"));
    let of = |manifest: &str| unlisted(&dependencies(manifest));
    assert_eq!(of(&manifest), [""; 0]);
    assert_eq!(
        of(&format!("{manifest}left-pad = \"1\"\n")),
        ["left-pad: say in tests/tidy/foreign.rs where it may be used"]
    );
    assert_eq!(
        of(&manifest.replace("url = \"1\"\n", "")),
        ["url: a row of foreign.rs, not in Cargo.toml"]
    );
}

#[test]
fn a_dependency_that_nothing_uses_is_caught() {
    let manifest = "[dependencies]\ntokio-postgres = \"1\"\nleft-pad = \"1\"\n";
    let source = Source::new(
        "src/engine/mod.rs",
        "use tokio_postgres::Client; // left_pad::pad",
    );
    assert_eq!(
        unused(&[source], &dependencies(manifest)),
        ["left-pad: nothing in src/ uses it; remove it from Cargo.toml"]
    );
}
