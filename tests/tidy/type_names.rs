//! A type's name means one thing: no two files of `src/` declare the same one, unless neither
//! shows it outside itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::known::differences;
use crate::outline::Item;
use crate::resolve::Program;
use crate::tree::{Source, complain, program};

const KNOWN_CLASHES: &[&str] = &[];

/// The clashing names, each with where it is declared.
fn clashes(sources: &[Source]) -> BTreeMap<String, Vec<String>> {
    struct Declared {
        at: String,
        visible: bool,
    }
    let mut declared: BTreeMap<String, BTreeMap<&str, Declared>> = BTreeMap::new();
    let program = Program::new(sources, &[]);
    for located in program
        .modules
        .values()
        .filter(|located| !located.module.test)
    {
        let types = ["struct", "enum", "union", "trait", "type"];
        let of_types = |item: &&Item| types.contains(&item.kind.as_str()) && !item.test;
        for item in located.module.items.iter().filter(of_types) {
            let files = declared.entry(item.name.clone()).or_default();
            let declared = files.entry(located.file.as_str()).or_insert(Declared {
                at: format!("{}:{}", located.file, item.line),
                visible: false,
            });
            declared.visible |= item.visible;
        }
    }
    declared.retain(|_, files| files.len() > 1 && files.values().any(|file| file.visible));
    let places =
        |files: BTreeMap<&str, Declared>| files.into_values().map(|file| file.at).collect();
    declared
        .into_iter()
        .map(|(name, files)| (name, places(files)))
        .collect()
}

#[test]
fn a_type_name_means_one_thing() {
    let clashes = clashes(&program());
    let names: BTreeSet<String> = clashes.keys().cloned().collect();
    let mut complaints = differences(&names, KNOWN_CLASHES, "KNOWN_CLASHES");
    if !complaints.is_empty() {
        let shown =
            |(name, places): (&String, &Vec<String>)| format!("{name}: {}", places.join(" "));
        complaints.extend(clashes.iter().map(shown));
    }
    complain(&complaints);
}

#[test]
fn the_same_name_in_two_files_is_caught_when_one_shows_it() {
    let sources = [
        Source::new("src/a/mod.rs", "pub(super) struct Step;\nenum Own {}"),
        Source::new(
            "src/b.rs",
            "enum Own {}\ntrait Step {}\nmod x { pub type Line = u8; }",
        ),
        Source::new("src/c.rs", "enum Line {}"),
    ];
    let found = clashes(&sources);
    let names: Vec<&String> = found.keys().collect();
    assert_eq!(names, ["Line", "Step"]);
    assert_eq!(found["Step"], ["src/a/mod.rs:1", "src/b.rs:2"]);
}

#[test]
fn types_of_impl_blocks_functions_tests_and_one_file_do_not_clash() {
    let sources = [
        Source::new(
            "src/a.rs",
            "pub struct Step; mod inner { pub struct Step; }",
        ),
        Source::new(
            "src/b.rs",
            "impl A for B { type Step = u8; } fn f() { struct Step; }",
        ),
        Source::new(
            "src/c.rs",
            "#[cfg(test)] mod tests { pub struct Step; } struct Stepped;",
        ),
        Source::new("src/d/mod.rs", "#[cfg(test)] mod tests;"),
        Source::new("src/d/tests/mod.rs", "mod random; struct Step;"),
        Source::new("src/d/tests/random.rs", "pub struct Step;"),
    ];
    assert!(clashes(&sources).is_empty());
}
