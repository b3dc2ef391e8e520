//! Every data file of the repository parses, and comes with the program where it should.

use std::path::Path;

use crate::program::{files, shown};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_dialect_files_parse() {
    let newest = "99.0.0".parse().expect("any text is a version");
    let (mut names, mut flavours) = (Vec::new(), vec!["innodb".to_owned()]);
    let all = files(&root().join("dialects"), ".toml");
    for path in all.iter().filter(|path| !path.ends_with("known.toml")) {
        rashomon::dialect::parse(&shown(path), &read(path), &newest)
            .unwrap_or_else(|e| panic!("{e}"));
        let is_flavour = path
            .parent()
            .is_some_and(|folder| folder.ends_with("simulated"));
        let told = match is_flavour {
            true => &mut flavours,
            false => &mut names,
        };
        told.push(
            path.file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
        );
    }
    let known = rashomon::engine::EngineFlavour::ALL.map(rashomon::engine::EngineFlavour::slug);
    assert_eq!(flavours, known, "every flavour has its file");
    let all = rashomon::dialect::BUILTIN.iter();
    let mut builtin: Vec<&str> = all
        .chain(rashomon::dialect::MODES)
        .map(|(name, _)| *name)
        .collect();
    builtin.sort_unstable();
    names.sort_unstable();
    assert_eq!(names, builtin, "every dialect file comes with the program");
}

#[test]
fn the_grammar_files_parse_and_come_with_the_program() {
    for (engine, _) in rashomon::dialect::BUILTIN {
        let ours = rashomon::grammar::Grammar::builtin(engine).unwrap_or_else(|e| panic!("{e}"));
        let files = rashomon::grammar::Grammar::load(&root().join("grammars"), engine)
            .unwrap_or_else(|e| panic!("{e}"));
        let labels = |grammar: &rashomon::grammar::Grammar| {
            let productions = grammar.rules().iter().flat_map(|rule| &rule.productions);
            let mut labels: Vec<String> = productions
                .map(|p| format!("{} = {}", p.label, p.text))
                .collect();
            labels.sort();
            labels
        };
        let (ours, files) = (labels(&ours), labels(&files));
        let missing = |a: &[String], b: &[String]| {
            a.iter()
                .filter(|label| !b.contains(label))
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(
            missing(&ours, &files),
            [""; 0],
            "{engine}: built in, and in no file"
        );
        assert_eq!(
            missing(&files, &ours),
            [""; 0],
            "{engine}: in a file, and not built in"
        );
    }
}

#[test]
fn the_registry_and_the_case_files_parse() {
    let registry = rashomon::reproducer::Registry::load(&root().join("dialects/known.toml"))
        .unwrap_or_else(|e| panic!("{e}"));
    assert!(!registry.entries.is_empty());
    let findings = files(&root().join("reproducers"), ".sql");
    assert!(findings.len() >= 3, "{findings:?}");
    for path in &findings {
        let file = rashomon::reproducer::load(path).unwrap_or_else(|e| panic!("{e}"));
        let text = rashomon::reproducer::write(&file);
        assert_eq!(text, read(path), "{} is canonical", shown(path));
        let known = file.header.known.as_deref();
        let entry = |id: &str| registry.entries.iter().any(|entry| entry.id == id);
        assert!(known.is_none_or(entry), "{}: {known:?}", shown(path));
    }
    for path in files(&root().join("corpus"), ".sql")
        .iter()
        .chain(&findings)
    {
        let case = rashomon::reproducer::load(path).unwrap_or_else(|e| panic!("{e}"));
        rashomon::reproducer::safety::check(&case)
            .unwrap_or_else(|e| panic!("{}: {e}", shown(path)));
    }
}
