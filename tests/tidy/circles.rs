//! Circles of files: files of `src/` that need each other, directly or through others.
//!
//! A path is followed through re-exports to the file that declares what it names. A `pub use`
//! makes a file need another only where its own code uses the name, so that a `mod.rs` may
//! show what its folder holds. Code for tests is left out.

use std::collections::{BTreeMap, BTreeSet};

use rashomon::graph::Graph;

use crate::known::differences;
use crate::resolve::{Program, Target, Used};
use crate::tree::{Source, complain, program};

/// Files that are part of a circle.
const KNOWN_CIRCLES: &[&str] = &[];

/// Which file needs which, with the line of the first path that says so.
fn needs(program: &Program) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for used in program
        .used()
        .filter(|used| !used.test && !is_signpost(used))
    {
        let Target::Inside(path) = &used.target else {
            continue;
        };
        let is_glob = used.import.is_some_and(|import| import.alias.is_none());
        let names_a_module = program.modules.contains_key(path);
        if names_a_module && !is_glob {
            continue;
        }
        if let Some(file) = program.file(path, 0)
            && file != used.by.file
        {
            found
                .entry((used.by.file.clone(), file.to_owned()))
                .or_insert_with(|| used.at());
        }
    }
    found
}

/// Whether it is a re-export of a name that the module's own code does not use.
fn is_signpost(used: &Used<'_>) -> bool {
    let exported = used.import.filter(|import| import.visible);
    let alias = exported.and_then(|import| import.alias.as_ref());
    alias.is_some_and(|alias| !used.by.module.words.contains_key(alias))
}

/// The circles, each as its files with the paths that close it.
fn circles(sources: &[Source]) -> Vec<BTreeMap<String, Vec<String>>> {
    let program = Program::new(sources, &[]);
    let needs = needs(&program);
    let files: BTreeSet<&String> = needs.keys().flat_map(|(from, to)| [from, to]).collect();
    let index: BTreeMap<&String, usize> = files.iter().copied().zip(0..).collect();
    let mut graph = Graph::new(files.len());
    for (from, to) in needs.keys() {
        graph.add(index[from], index[to]);
    }
    let within = |component: &[usize]| {
        let mut circle: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for ((from, to), at) in &needs {
            if component.contains(&index[from]) && component.contains(&index[to]) {
                let step = format!("{at} uses {to}");
                circle.entry(from.clone()).or_default().push(step);
            }
        }
        circle
    };
    let components = graph.cyclic_components();
    components.iter().map(|files| within(files)).collect()
}

#[test]
fn no_files_need_each_other_in_a_circle() {
    let circles = circles(&program());
    let files: BTreeSet<String> = circles
        .iter()
        .flat_map(|circle| circle.keys().cloned())
        .collect();
    let mut complaints = differences(&files, KNOWN_CIRCLES, "KNOWN_CIRCLES");
    if !complaints.is_empty() {
        let shown = |circle: &BTreeMap<String, Vec<String>>| {
            let steps: Vec<String> = circle.values().flatten().cloned().collect();
            format!(
                "a circle of {} files:\n  {}",
                circle.len(),
                steps.join("\n  ")
            )
        };
        complaints.extend(circles.iter().map(shown));
    }
    complain(&complaints);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sources: &[(&str, &str)]) -> Vec<Vec<String>> {
        let sources: Vec<Source> = sources
            .iter()
            .map(|(path, text)| Source::new(path, text))
            .collect();
        let circles = circles(&sources);
        circles
            .into_iter()
            .map(|circle| circle.into_keys().collect())
            .collect()
    }

    #[test]
    fn a_circle_is_caught_through_three_files_and_a_re_export() {
        let circle = [
            ("src/lib.rs", "mod a; mod b;"),
            ("src/a/mod.rs", "mod one; mod two; pub use one::One;"),
            ("src/a/one.rs", "use super::two::Two; pub struct One;"),
            ("src/a/two.rs", "pub struct Two; fn f() { crate::b::b() }"),
            ("src/b.rs", "use crate::a::One; pub fn b() {}"),
        ];
        let expected: [&[&str]; 1] = [&["src/a/one.rs", "src/a/two.rs", "src/b.rs"]];
        assert_eq!(found(&circle), expected);
    }

    #[test]
    fn a_folder_and_its_file_that_need_each_other_are_caught() {
        let leaf = ("src/a/leaf.rs", "use super::Own; pub struct Leaf(Own);");
        let expected: [&[&str]; 1] = [&["src/a/leaf.rs", "src/a/mod.rs"]];
        for folder in [
            "mod leaf; use leaf::Leaf; pub struct Own;",
            "mod leaf; pub struct Own; fn f() -> leaf::Leaf { leaf::Leaf }",
            "mod leaf; pub use leaf::Leaf; pub struct Own; fn f(_: Leaf) {}",
        ] {
            assert_eq!(
                found(&[("src/a/mod.rs", folder), leaf]),
                expected,
                "{folder}"
            );
        }
    }

    #[test]
    fn signposts_modules_and_tests_make_no_circle() {
        let leaf = ("src/a/leaf.rs", "use super::Own; pub struct Leaf(Own);");
        for folder in [
            "mod leaf; pub use leaf::Leaf; pub struct Own;",
            "mod leaf; pub struct Own; #[cfg(test)] mod tests { use super::leaf::Leaf; }",
            "mod leaf; pub struct Own; #[cfg(test)] fn f(_: leaf::Leaf) {}",
            "mod leaf; use leaf; pub struct Own; pub(in crate::a::leaf) fn f() {}",
        ] {
            let none: [&[&str]; 0] = [];
            assert_eq!(found(&[("src/a/mod.rs", folder), leaf]), none, "{folder}");
        }
    }
}
