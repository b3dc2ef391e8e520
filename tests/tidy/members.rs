//! Every source file is part of the program: some `mod` declares it.

use crate::outline::{module_name, modules};
use crate::tree::{Source, complain, program};

/// The files that no `mod` declares.
const ROOTS: &[&str] = &["src/lib.rs", "src/main.rs"];

fn violations(sources: &[Source]) -> Vec<String> {
    let declared: Vec<Vec<String>> = sources
        .iter()
        .flat_map(modules)
        .flat_map(|module| {
            let full = |name: String| [module.name.as_slice(), &[name]].concat();
            let names = module.children.into_iter().map(|child| child.name);
            names.map(full).collect::<Vec<_>>()
        })
        .collect();
    let is_lost = |source: &&Source| {
        !ROOTS.contains(&source.path.as_str()) && !declared.contains(&module_name(&source.path))
    };
    let shown = |source: &Source| format!("{}: no `mod` declares it", source.path);
    sources.iter().filter(is_lost).map(shown).collect()
}

#[test]
fn every_source_file_is_part_of_the_program() {
    complain(&violations(&program()));
}

#[test]
fn a_file_that_no_module_declares_is_caught() {
    let sources = [
        Source::new("src/lib.rs", "pub mod a; // mod b;"),
        Source::new("src/main.rs", ""),
        Source::new("src/a/mod.rs", "mod inner; mod inline { pub mod deep; }"),
        Source::new("src/a/inner.rs", ""),
        Source::new("src/a/inline/deep.rs", ""),
        Source::new("src/a/b.rs", ""),
        Source::new("src/b.rs", ""),
    ];
    let expected = [
        "src/a/b.rs: no `mod` declares it",
        "src/b.rs: no `mod` declares it",
    ];
    assert_eq!(violations(&sources), expected);
}
