//! The house rules that no compiler knows: layers, sizes, words, paths. Data files are parsed in
//! `tests/it/data.rs`.
//!
//! Every rule collects all its complaints and fails once, each complaint with its file and line.

use std::fs;
use std::path::{Path, PathBuf};

/// Modules by layer, lowest first. A module uses its own layer's neighbours only where [`BESIDE`]
/// says so, otherwise lower layers.
const LAYERS: &[&[&str]] = &[
    &["model", "graph"],
    &["dialect", "grammar", "statement", "history"],
    &["generate", "interleave", "checker", "engine"],
    &["execute", "workload"],
    &["observe", "oracle"],
    &["minimize", "reproducer"],
    &["campaign", "replay", "export", "report", "calibrate"],
    &["cli"],
];

/// What may be used within one layer: `(user, used)`.
const BESIDE: &[(&str, &str)] = &[
    ("oracle", "observe"),
    ("grammar", "dialect"),
    ("statement", "dialect"),
    ("generate", "interleave"),
];

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
const NAMES_OF_OTHERS: &[&str] = &["pg_backend_pid", "pg_terminate_backend", "shrink_to_fit"];

/// Names that say nothing of what lies inside.
const DRAWERS: &[&str] = &[
    "utils", "util", "helpers", "helper", "common", "misc", "manager",
];

/// Lines of code a function may have, blank lines and comments not counted: as clippy counts.
const FUNCTION_LINES_MAX: usize = 70;

/// Lines a file may have.
const FILE_LINES_MAX: usize = 600;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below a folder with one of these extensions, sorted.
fn files(folder: &str, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                if name != "target" && name != ".git" {
                    folders.push(path);
                }
            } else if extensions.is_empty()
                || extensions
                    .iter()
                    .any(|e| path.extension().is_some_and(|x| x == *e))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The Rust sources of the project.
fn sources() -> Vec<PathBuf> {
    ["src", "tests", "benches"]
        .iter()
        .flat_map(|folder| files(folder, &["rs"]))
        .collect()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Fails with every complaint, one a line.
fn complain(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

/// Lines with their number from 1, without those that are comments.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The top-level modules that a line names after `crate::`, one or a group in braces.
fn modules_used(line: &str, root: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices(root) {
        if line[..at].chars().next_back().is_some_and(is_name) {
            continue;
        }
        let rest = &line[at + root.len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut first_of_entry = true;
            let mut name = String::new();
            for c in group.chars() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 0 => first_of_entry = true,
                    ':' if depth == 0 => first_of_entry = false,
                    c if depth == 0 && first_of_entry && is_name(c) => name.push(c),
                    _ => {}
                }
                if depth < 0 {
                    break;
                }
                if !name.is_empty() && !is_name(c) {
                    found.push(std::mem::take(&mut name));
                }
            }
            if !name.is_empty() {
                found.push(name);
            }
        } else {
            found.push(rest.chars().take_while(|c| is_name(*c)).collect());
        }
    }
    found
}

/// The module a source file belongs to: the first part of its path below `src/`.
fn module_of(path: &Path) -> String {
    let below = path.strip_prefix(root().join("src")).unwrap_or(path);
    let first = below
        .components()
        .next()
        .map(|part| part.as_os_str().to_string_lossy());
    first.unwrap_or_default().trim_end_matches(".rs").to_owned()
}

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

#[test]
fn a_module_uses_lower_layers_only() {
    let mut complaints = Vec::new();
    for path in files("src", &["rs"]) {
        let module = module_of(&path);
        if module == "lib" || module == "main" {
            continue;
        }
        let Some(layer) = layer_of(&module) else {
            complaints.push(format!(
                "{}: {module} has no layer in tests/tidy.rs",
                shown(&path)
            ));
            continue;
        };
        let text = text(&path);
        for (number, line) in code_lines(&text) {
            for used in modules_used(line, "crate::") {
                let Some(its_layer) = layer_of(&used) else {
                    continue;
                };
                let beside = BESIDE.contains(&(module.as_str(), used.as_str()));
                if used != module && its_layer >= layer && !(its_layer == layer && beside) {
                    let relation = if its_layer == layer {
                        "beside it"
                    } else {
                        "a higher layer"
                    };
                    let at = shown(&path);
                    complaints.push(format!("{at}:{number}: {module} uses {used}, {relation}"));
                }
            }
        }
    }
    complain(&complaints);
}

#[test]
fn the_layer_rule_sees_single_and_grouped_imports() {
    assert_eq!(
        modules_used("use crate::model::{Row, Value};", "crate::"),
        ["model"]
    );
    assert_eq!(
        modules_used("use crate::{model::Row, engine::{A, B}, cli};", "crate::"),
        ["model", "engine", "cli"]
    );
    assert_eq!(
        modules_used("let a = crate::cli::run(crate::model::X);", "crate::"),
        ["cli", "model"]
    );
    assert!(modules_used("use mycrate::model;", "crate::").is_empty());
}

#[test]
fn every_source_file_is_part_of_the_program() {
    let mut complaints = Vec::new();
    for path in files("src", &["rs"]) {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let folder = path.parent().unwrap_or(root());
        if folder == root().join("src") && (name == "lib" || name == "main") {
            continue;
        }
        let (module, home) = if name == "mod" {
            let module = folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            (module, folder.parent().unwrap_or(root()))
        } else {
            (name, folder)
        };
        let parents = [
            home.join("mod.rs"),
            home.join("lib.rs"),
            home.with_extension("rs"),
        ];
        let declared = parents
            .iter()
            .filter_map(|parent| fs::read_to_string(parent).ok())
            .any(|text| {
                code_lines(&text).any(|(_, line)| line.ends_with(&format!("mod {module};")))
            });
        if !declared {
            complaints.push(format!("{}: no `mod {module};` names it", shown(&path)));
        }
    }
    complain(&complaints);
}

/// Length of each function of a file, by the indentation that rustfmt guarantees.
fn functions(text: &str) -> Vec<(usize, String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let Some(at) = trimmed.find("fn ") else {
            continue;
        };
        let head_words = ["", "pub", "const", "async", "pub(crate)", "pub(super)"];
        if !trimmed[..at]
            .split(' ')
            .all(|word| head_words.contains(&word))
        {
            continue;
        }
        let indent = line.len() - trimmed.len();
        let end = format!("{}}}", " ".repeat(indent));
        let closing = lines[index..].iter().position(|line| *line == end);
        let Some(length) = closing else { continue };
        let semicolon = lines[index..].iter().position(|line| line.ends_with(';'));
        let is_declaration = !lines[index..=index + length]
            .iter()
            .take(semicolon.unwrap_or(0) + 1)
            .any(|line| line.contains('{'));
        if is_declaration {
            continue;
        }
        let code = lines[index + 1..index + length]
            .iter()
            .filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("//"))
            .count();
        let name = trimmed[at + 3..]
            .chars()
            .take_while(|c| is_name(*c))
            .collect();
        found.push((index + 1, name, code));
    }
    found
}

#[test]
fn functions_and_files_are_short() {
    let mut complaints = Vec::new();
    for path in sources() {
        let text = text(&path);
        let at = shown(&path);
        let lines = text.lines().count();
        if lines > FILE_LINES_MAX {
            complaints.push(format!("{at}: {lines} lines, at most {FILE_LINES_MAX}"));
        }
        for (number, name, length) in functions(&text) {
            if length > FUNCTION_LINES_MAX {
                complaints.push(format!(
                    "{at}:{number}: {name} has {length} lines of code, at most {FUNCTION_LINES_MAX}"
                ));
            }
        }
    }
    complain(&complaints);
}

#[test]
fn the_length_rule_counts_code_only() {
    let text =
        "impl A {\n    fn a(&self) {\n        // why\n        one();\n\n        two();\n    }\n}\n";
    assert_eq!(functions(text), [(2, "a".to_owned(), 2)]);
}

#[test]
fn sources_are_ascii() {
    let mut complaints = Vec::new();
    for path in sources()
        .into_iter()
        .chain(files("scripts", &[]))
        .chain(files("dialects", &[]))
    {
        for (index, line) in text(&path).lines().enumerate() {
            if let Some(c) = line.chars().find(|c| !c.is_ascii()) {
                complaints.push(format!(
                    "{}:{}: {c:?} is not ASCII",
                    shown(&path),
                    index + 1
                ));
            }
        }
    }
    complain(&complaints);
}

#[test]
fn words_keep_their_meaning() {
    let mut complaints = Vec::new();
    for path in sources() {
        if path.ends_with("tests/tidy.rs") {
            continue;
        }
        for (index, line) in text(&path).lines().enumerate() {
            let line = NAMES_OF_OTHERS
                .iter()
                .fold(line.to_owned(), |line, name| line.replace(name, ""));
            for (banned, instead) in BANNED {
                if words(&line).any(|word| word == *banned) {
                    let at = format!("{}:{}", shown(&path), index + 1);
                    complaints.push(format!(
                        "{at}: {banned:?}: the word is {instead:?} (GLOSSARY.md)"
                    ));
                }
            }
        }
    }
    for path in sources() {
        let stem = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if DRAWERS.contains(&stem.as_str()) || DRAWERS.contains(&module_of(&path).as_str()) {
            complaints.push(format!(
                "{}: the name says nothing of what is inside",
                shown(&path)
            ));
        }
    }
    complain(&complaints);
}

#[test]
fn nothing_is_put_off_or_switched_off() {
    // In parts, so that this file does not complain of itself.
    let banned = [
        (
            concat!("#[ign", "ore"),
            "assert today's answer, with a FIXME",
        ),
        (concat!("to", "do!("), "finish it"),
        (concat!("unimple", "mented!("), "finish it"),
        (concat!("#[al", "low("), "say #[expect(lint, reason = ..)]"),
        (concat!("#![al", "low("), "say #[expect(lint, reason = ..)]"),
    ];
    let mut complaints = Vec::new();
    for path in sources() {
        for (number, line) in code_lines(&text(&path)) {
            for (pattern, advice) in banned {
                if line.contains(pattern) {
                    complaints.push(format!("{}:{number}: {pattern}: {advice}", shown(&path)));
                }
            }
        }
    }
    complain(&complaints);
}

#[test]
fn only_the_command_line_prints() {
    let mut complaints = Vec::new();
    for path in files("src", &["rs"]) {
        if ["cli", "main"].contains(&module_of(&path).as_str()) {
            continue;
        }
        let text = text(&path);
        for (number, line) in code_lines(&text) {
            let is_print = ["println!(", "print!("]
                .iter()
                .any(|macro_call| line.contains(macro_call));
            if is_print {
                complaints.push(format!(
                    "{}:{number}: prints; take a `&mut dyn Write`",
                    shown(&path)
                ));
            }
        }
    }
    complain(&complaints);
}

#[test]
fn nothing_names_a_machine() {
    let mut paths = sources();
    for folder in ["docs", "scripts", "dialects", "grammars", "corpus", ".ci"] {
        paths.extend(files(folder, &[]));
    }
    paths.extend(documents());
    // In parts, for the same reason.
    let banned = [
        concat!("/ro", "ot/"),
        concat!("/ho", "me/"),
        concat!("/wo", "rk/"),
        concat!("/tmp/", "wt"),
    ];
    let mut complaints = Vec::new();
    for path in paths {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        for (index, line) in text.lines().enumerate() {
            for pattern in banned {
                if line.contains(pattern) {
                    complaints.push(format!(
                        "{}:{}: {pattern} is of one machine",
                        shown(&path),
                        index + 1
                    ));
                }
            }
        }
    }
    complain(&complaints);
}

/// The pages that people read: those at the root and in `docs/`.
fn documents() -> Vec<PathBuf> {
    let entries = fs::read_dir(root()).expect("the package's folder");
    let mut pages: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.extend(files("docs", &["md"]));
    pages.sort();
    pages
}

/// Whether a word in back-ticks is meant as a path of the repository.
fn is_path(word: &str) -> bool {
    let plain = word
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "_./-".contains(c));
    let folders = [
        "src/",
        "tests/",
        "docs/",
        "dialects/",
        "grammars/",
        "corpus/",
        "scripts/",
        "benches/",
        ".ci/",
    ];
    plain && !word.starts_with('/') && folders.iter().any(|folder| word.starts_with(folder))
}

#[test]
fn the_paths_that_documents_name_exist() {
    let mut complaints = Vec::new();
    for page in documents() {
        for (index, line) in text(&page).lines().enumerate() {
            for word in line
                .split('`')
                .skip(1)
                .step_by(2)
                .filter(|word| is_path(word))
            {
                if !root().join(word).exists() {
                    complaints.push(format!(
                        "{}:{}: `{word}` does not exist",
                        shown(&page),
                        index + 1
                    ));
                }
            }
            for link in line
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split([')', '#']).next())
            {
                let is_local = !link.is_empty() && !link.contains("://");
                if is_local && !page.parent().unwrap_or(root()).join(link).exists() {
                    complaints.push(format!(
                        "{}:{}: the link {link} leads nowhere",
                        shown(&page),
                        index + 1
                    ));
                }
            }
        }
    }
    complain(&complaints);
}
