//! Words of sources and documents: one word, one meaning; no drawers; ASCII; no machine's paths.

use crate::tree::{Source, below, complain, documents, sources};

/// Words that mean something else in this project (`GLOSSARY.md`), with the word to use.
const BANNED: &[(&str, &str)] = &[
    ("DUT", "engine"),
    ("SUT", "engine"),
    ("DBMS", "engine"),
    ("backend", "engine"),
    ("fiber", "session"),
    ("permutation", "interleaving"),
    ("permutations", "interleavings"),
    ("shrink", "minimize"),
    ("shrinker", "minimizer"),
    ("shrinking", "minimizing"),
];

/// Names that engines and the standard library gave their own functions.
const NAMES_OF_OTHERS: &[&str] = &[
    "pg_backend_pid",
    "pg_terminate_backend",
    "ratatui::backend::TestBackend",
    "TestBackend::new",
    "terminal.backend()",
    "shrink_to_fit",
];

/// Names that say nothing of what lies inside.
const DRAWERS: &[&str] = &[
    "utils", "util", "helpers", "helper", "common", "misc", "manager",
];

/// Folders of one machine, each in two parts, for this file is searched, too.
const MACHINES: &[[&str; 2]] = &[
    ["/ro", "ot/"],
    ["/ho", "me/"],
    ["/wo", "rk/"],
    ["/tmp", "/w/"],
];

/// The file with the words themselves.
const THIS_FILE: &str = "tests/tidy/words.rs";

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
}

fn banned_words(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources.iter().filter(|source| source.path != THIS_FILE) {
        for (number, line) in source.lines() {
            let without = |line: String, name: &&str| line.replace(name, "");
            let line = NAMES_OF_OTHERS.iter().fold(line.to_owned(), without);
            for (banned, instead) in BANNED {
                if words(&line).any(|word| word == *banned) {
                    let at = &source.path;
                    complaints.push(format!(
                        "{at}:{number}: {banned:?}: the word is {instead:?} (GLOSSARY.md)"
                    ));
                }
            }
        }
    }
    complaints
}

fn drawers(sources: &[Source]) -> Vec<String> {
    let is_drawer = |source: &&Source| {
        let mut names = source.folders().chain([source.stem()]);
        names.any(|name| DRAWERS.contains(&name))
    };
    let shown =
        |source: &Source| format!("{}: the name says nothing of what is inside", source.path);
    sources.iter().filter(is_drawer).map(shown).collect()
}

fn letters_beyond_ascii(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        for (number, line) in source.lines() {
            if let Some(c) = line.chars().find(|c| !c.is_ascii()) {
                complaints.push(format!("{}:{number}: {c:?} is not ASCII", source.path));
            }
        }
    }
    complaints
}

fn machines(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        for (number, line) in source.lines() {
            for pattern in MACHINES.iter().map(|parts| parts.concat()) {
                if line.contains(&pattern) {
                    let at = &source.path;
                    complaints.push(format!("{at}:{number}: {pattern} is of one machine"));
                }
            }
        }
    }
    complaints
}

#[test]
fn words_keep_their_meaning() {
    complain(&banned_words(&sources()));
}

#[test]
fn nothing_is_a_drawer() {
    complain(&drawers(&sources()));
}

#[test]
fn sources_are_ascii() {
    let mut every = sources();
    every.extend(below("scripts", &[]));
    every.extend(below("dialects", &[]));
    complain(&letters_beyond_ascii(&every));
}

#[test]
fn nothing_names_a_machine() {
    let mut every = sources();
    for folder in ["docs", "scripts", "dialects", "grammars", "corpus", ".ci"] {
        every.extend(below(folder, &[]));
    }
    every.extend(documents());
    complain(&machines(&every));
}

#[test]
fn a_banned_word_is_caught_in_code_comments_and_strings() {
    for text in [
        "fn f(backend: u8) {}",
        "// the DBMS",
        "const A: &str = \"to shrink\";",
        "fn shrink_it() {}",
    ] {
        assert_eq!(
            banned_words(&[Source::new("src/a.rs", text)]).len(),
            1,
            "{text}"
        );
    }
    let text = "fn f(v: Vec<u8>) { v.shrink_to_fit() } // shrinks, backends, pg_backend_pid()";
    assert_eq!(banned_words(&[Source::new("src/a.rs", text)]), [""; 0]);
}

#[test]
fn a_drawer_is_caught_as_file_and_folder() {
    for path in [
        "src/engine/helpers.rs",
        "src/utils/mod.rs",
        "tests/it/common/server.rs",
    ] {
        assert_eq!(drawers(&[Source::new(path, "")]).len(), 1, "{path}");
    }
    assert_eq!(
        drawers(&[Source::new("src/engine/utility_statement.rs", "")]),
        [""; 0]
    );
}

#[test]
fn a_letter_beyond_ascii_is_caught() {
    let text = "// plain\n// caf\u{e9}";
    let found = letters_beyond_ascii(&[Source::new("src/a.rs", text)]);
    assert_eq!(found, ["src/a.rs:2: '\u{e9}' is not ASCII"]);
    assert_eq!(
        letters_beyond_ascii(&[Source::new("src/a.rs", "// plain")]),
        [""; 0]
    );
}

#[test]
fn a_path_of_one_machine_is_caught() {
    for [start, end] in MACHINES {
        let text = format!("See {start}{end}x.");
        assert_eq!(
            machines(&[Source::new("docs/a.md", &text)]).len(),
            1,
            "{text}"
        );
    }
    let text = "Files of a test are in /tmp, or in a folder named work/.";
    assert_eq!(machines(&[Source::new("docs/a.md", text)]), [""; 0]);
}
