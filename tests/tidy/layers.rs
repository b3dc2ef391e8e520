//! A module uses lower layers only, however the path is spelled.

use crate::resolve::{Program, Target};
use crate::tree::{Source, complain, program};

/// Modules by layer, lowest first. A module uses its own layer's neighbours only where [`BESIDE`]
/// says so, otherwise lower layers.
const LAYERS: &[&[&str]] = &[
    &["model", "graph"],
    &["dialect", "grammar", "statement", "history"],
    &["generate", "interleave", "checker", "engine"],
    &["execute", "workload"],
    &["observe", "oracle"],
    &["minimize", "reproducer"],
    &["campaign", "replay", "export", "calibrate"],
    &["triage", "report", "selftest"],
    &["cli"],
];

/// What may be used within one layer: `(user, used)`.
const BESIDE: &[(&str, &str)] = &[
    ("oracle", "observe"),
    ("grammar", "dialect"),
    ("statement", "dialect"),
    ("generate", "interleave"),
    ("report", "triage"),
];

/// The module that tests of every layer may use: they build cases by reading our own case files.
const FOR_TESTS: &str = "reproducer";

/// The files that hold no module: they may use everything.
const ROOTS: &[&str] = &["src/lib.rs", "src/main.rs"];

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

fn violations(sources: &[Source]) -> Vec<String> {
    let program = Program::new(sources, &[]);
    let mut complaints = Vec::new();
    for located in program.modules.values() {
        let [module] = located.module.name.as_slice() else {
            continue;
        };
        if layer_of(module).is_none() && !ROOTS.contains(&located.file.as_str()) {
            complaints.push(format!(
                "{}: {module} has no layer in tests/tidy/layers.rs",
                located.file
            ));
        }
    }
    for used in program.used() {
        let reads_a_case = |path: &Vec<String>| path.first().is_some_and(|m| m == FOR_TESTS);
        if used.test && matches!(&used.target, Target::Inside(path) if reads_a_case(path)) {
            continue;
        }
        let Some(by) = used.by.module.name.first() else {
            continue;
        };
        let Target::Inside(path) = &used.target else {
            continue;
        };
        let Some(module) = path.first().filter(|module| *module != by) else {
            continue;
        };
        let (Some(layer), Some(its_layer)) = (layer_of(by), layer_of(module)) else {
            continue;
        };
        let relation = match its_layer.cmp(&layer) {
            std::cmp::Ordering::Less => continue,
            std::cmp::Ordering::Equal if BESIDE.contains(&(by, module)) => continue,
            std::cmp::Ordering::Equal => "beside it",
            std::cmp::Ordering::Greater => "a higher layer",
        };
        complaints.push(format!("{}: {by} uses {module}, {relation}", used.at()));
    }
    complaints
}

#[test]
fn every_module_uses_lower_layers_only() {
    complain(&violations(&program()));
}

#[test]
fn a_use_of_a_higher_layer_is_caught_in_every_spelling() {
    let spellings = [
        "use crate::cli::run;",
        "use super::super::cli;",
        "use crate::{\n    model::Row,\n    cli::{\n        self as top,\n    },\n};",
        "pub use crate::cli::run;",
        "fn f() { crate::cli::run() }",
        "fn f() -> super::super::cli::A { format!(\"{}\", super::super::cli::B) }",
        "mod inner { fn f() { super::super::super::cli::run() } }",
        "use crate as all; fn f() { all::cli::run() }",
    ];
    for text in spellings {
        let found = violations(&[Source::new("src/engine/sqlite.rs", text)]);
        assert!(!found.is_empty(), "{text}");
        assert!(
            found
                .iter()
                .all(|complaint| complaint.ends_with("engine uses cli, a higher layer")),
            "{text}: {found:?}"
        );
    }
}

#[test]
fn a_neighbour_of_the_same_layer_is_caught_unless_it_is_named() {
    let found = violations(&[Source::new("src/engine/mod.rs", "use crate::checker::A;")]);
    assert_eq!(
        found,
        ["src/engine/mod.rs:1: engine uses checker, beside it"]
    );
    let allowed = [
        Source::new(
            "src/generate/mod.rs",
            "use crate::interleave::A; use crate::model::B;",
        ),
        Source::new(
            "src/generate/rows.rs",
            "use super::Own; // crate::cli::run\nconst A: &str = \"crate::cli\";",
        ),
        Source::new("src/lib.rs", "pub mod cli; pub use cli::run;"),
    ];
    assert_eq!(violations(&allowed), [""; 0]);
}

#[test]
fn tests_of_every_layer_may_read_a_case_and_nothing_else_may() {
    let test = "#[cfg(test)] mod tests { use crate::reproducer::case_of; }";
    assert_eq!(
        violations(&[Source::new("src/observe/mod.rs", test)]),
        [""; 0]
    );
    let found = violations(&[Source::new(
        "src/observe/mod.rs",
        "use crate::reproducer::A;",
    )]);
    assert_eq!(found.len(), 1, "{found:?}");
    let other = "#[cfg(test)] mod tests { use crate::campaign::A; }";
    assert_eq!(
        violations(&[Source::new("src/observe/mod.rs", other)]).len(),
        1
    );
}

#[test]
fn a_module_without_a_layer_is_caught() {
    let found = violations(&[Source::new("src/cellar/mod.rs", "")]);
    assert_eq!(
        found,
        ["src/cellar/mod.rs: cellar has no layer in tests/tidy/layers.rs"]
    );
}
