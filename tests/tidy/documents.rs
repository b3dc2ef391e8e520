//! Paths and links that documents name lead somewhere.

use std::path::Path;

use crate::tree::{Source, complain, documents, root};

/// Folders that documents speak of.
const FOLDERS: &[&str] = &[
    ".ci/",
    "benches/",
    "corpus/",
    "dialects/",
    "docs/",
    "grammars/",
    "scripts/",
    "src/",
    "tests/",
];

/// Whether a word in back-ticks is meant as a path of the repository.
fn is_path(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    word.chars().all(is_plain) && FOLDERS.iter().any(|folder| word.starts_with(folder))
}

/// What is named and does not exist below `root`.
fn dead(pages: &[Source], root: &Path) -> Vec<String> {
    let mut complaints = Vec::new();
    for page in pages {
        let folder = root.join(&page.path);
        let folder = folder.parent().unwrap_or(root);
        for (number, line) in page.lines() {
            let at = format!("{}:{number}", page.path);
            let quoted = line.split('`').skip(1).step_by(2);
            for word in quoted.filter(|word| is_path(word)) {
                if !root.join(word).exists() {
                    complaints.push(format!("{at}: `{word}` does not exist"));
                }
            }
            let links = line.split("](").skip(1);
            for link in links.filter_map(|rest| rest.split([')', '#']).next()) {
                let is_local = !link.is_empty() && !link.contains("://");
                if is_local && !folder.join(link).exists() {
                    complaints.push(format!("{at}: the link {link} leads nowhere"));
                }
            }
        }
    }
    complaints
}

#[test]
fn the_paths_that_documents_name_exist() {
    complain(&dead(&documents(), root()));
}

#[test]
fn a_dead_path_and_a_dead_link_are_caught() {
    let page = Source::new(
        "docs/page.md",
        "See `src/lib.rs`, `src/gone.rs`, `src/*.rs` and `other/gone.rs`.\n\
         [up](../README.md#top) [web](https://example.org/gone) [here](#part) [gone](gone.md)",
    );
    assert_eq!(
        dead(&[page], root()),
        [
            "docs/page.md:1: `src/gone.rs` does not exist",
            "docs/page.md:2: the link gone.md leads nowhere"
        ]
    );
}
