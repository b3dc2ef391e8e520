//! What `ARCHITECTURE.md` promises in prose and a search for words can hold. Code for tests is
//! left out, comments are.

use crate::resolve::{Located, Program};
use crate::tree::{Source, complain, program};

/// What names a product, in lower case.
const ENGINES: &[&str] = &[
    "innodb", "mariadb", "mysql", "percona", "postgres", "sqlite", "tidb",
];

/// Files and folders that may name an engine, and why.
const MAY_NAME_ENGINES: &[(&str, &str)] = &[
    ("src/engine/", "the engines"),
    ("src/cli/", "help and its examples"),
    (
        "src/dialect/mod.rs",
        "the dialect files that are built in, and the parsers they choose from",
    ),
    (
        "src/dialect/file.rs",
        "the names of parsers in a dialect file",
    ),
    ("src/grammar/mod.rs", "the grammars that are built in"),
    (
        "src/statement/parse.rs",
        "the parser's own name for a dialect",
    ),
    (
        "src/statement/control.rs",
        "the variables that set a lock timeout",
    ),
    (
        "src/statement/effect.rs",
        "the parser's own name of a clause",
    ),
    (
        "src/export/",
        "the driver, the tests, the manual and the tracker of each product",
    ),
    ("src/reproducer/known/read.rs", "examples in messages"),
    (
        "src/reproducer/safety/",
        "schemas and variables of engines that a file may not touch",
    ),
];

/// Modules that carry the text of a statement and never read it.
const WITHOUT_SQL: &[&str] = &["model", "graph", "history", "checker"];

/// What begins a statement or ends a transaction, with the blank that a word of prose lacks.
const SQL: &[&str] = &[
    "\"SELECT ",
    "\"INSERT ",
    "\"UPDATE ",
    "\"DELETE ",
    "\"CREATE ",
    "\"BEGIN",
    "\"COMMIT",
    "\"ROLLBACK",
    "\"START TRANSACTION",
];

/// Derives that would make a type a format.
const FORMATS: &[&str] = &["Serialize", "Deserialize"];

fn code(program: &Program) -> impl Iterator<Item = &Located> {
    program
        .modules
        .values()
        .filter(|located| !located.module.test)
}

fn named_engines(sources: &[Source]) -> Vec<String> {
    let program = Program::new(sources, &[]);
    let mut complaints = Vec::new();
    let mut used = vec![false; MAY_NAME_ENGINES.len()];
    for located in code(&program) {
        let words = located.module.words.iter();
        let literals = located.module.literals.iter();
        let texts = words.chain(literals.map(|(text, line)| (text, line)));
        for (text, line) in texts {
            let lower = text.to_ascii_lowercase();
            let Some(engine) = ENGINES.iter().find(|engine| lower.contains(*engine)) else {
                continue;
            };
            let allowed = |(place, _): &(&str, &str)| located.file.starts_with(place);
            match MAY_NAME_ENGINES.iter().position(allowed) {
                Some(index) => used[index] = true,
                None => complaints.push(format!(
                    "{}:{line}: names {engine}; ask the dialect for a capability",
                    located.file
                )),
            }
        }
    }
    let present = |place: &str| sources.iter().any(|source| source.path.starts_with(place));
    for ((place, _), used) in MAY_NAME_ENGINES.iter().zip(used) {
        if !used && present(place) {
            complaints.push(format!("{place}: names no engine; remove the exception"));
        }
    }
    complaints
}

fn formats_in_model(sources: &[Source]) -> Vec<String> {
    let program = Program::new(sources, &[]);
    let of_model = |located: &&Located| located.module.name.first().is_some_and(|m| m == "model");
    code(&program)
        .filter(of_model)
        .flat_map(|located| {
            let words = FORMATS
                .iter()
                .filter_map(|format| located.module.words.get(*format));
            words.map(|line| format!("{}:{line}: a type of `model` is no format", located.file))
        })
        .collect()
}

fn sql_where_texts_are_carried(sources: &[Source]) -> Vec<String> {
    let program = Program::new(sources, &[]);
    let carries = |located: &&Located| {
        let module = located.module.name.first();
        module.is_some_and(|module| WITHOUT_SQL.contains(&module.as_str()))
    };
    let mut complaints = Vec::new();
    for located in code(&program).filter(carries) {
        for (literal, line) in &located.module.literals {
            if SQL.iter().any(|sql| literal.contains(sql)) {
                complaints.push(format!("{}:{line}: {literal} is SQL", located.file));
            }
        }
    }
    complaints
}

#[test]
fn nothing_outside_the_engines_asks_which_engine_it_is() {
    complain(&named_engines(&program()));
}

#[test]
fn the_types_of_model_are_no_formats() {
    complain(&formats_in_model(&program()));
}

#[test]
fn model_graph_history_and_checker_know_no_sql() {
    complain(&sql_where_texts_are_carried(&program()));
}

#[test]
fn the_name_of_an_engine_is_caught_in_words_and_strings() {
    for text in [
        "fn f(name: &str) -> bool { name == \"mariadb\" }",
        "enum Engine { MySql }",
        "fn f() { let is_sqlite = true; }",
    ] {
        let found = named_engines(&[Source::new("src/oracle/serial.rs", text)]);
        assert!(
            found.len() == 1 && found[0].contains(":1: names"),
            "{text}: {found:?}"
        );
    }
    for text in [
        "/// As InnoDB does.\nfn f() {} // not SQLite",
        "#[cfg(test)] mod tests { const A: &str = \"mysql\"; }",
    ] {
        assert_eq!(
            named_engines(&[Source::new("src/oracle/serial.rs", text)]),
            [""; 0]
        );
    }
}

#[test]
fn an_exception_that_nothing_needs_is_caught() {
    let found = named_engines(&[Source::new(
        "src/dialect/file.rs",
        "enum Parser { Generic }",
    )]);
    assert_eq!(
        found,
        ["src/dialect/file.rs: names no engine; remove the exception"]
    );
    let found = named_engines(&[Source::new("src/dialect/file.rs", "enum Parser { MySql }")]);
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_format_in_model_is_caught() {
    let text = "use serde::Serialize;\n#[derive(Clone, Serialize)] pub struct Row;";
    let found = formats_in_model(&[Source::new("src/model/row.rs", text)]);
    assert_eq!(
        found,
        ["src/model/row.rs:2: a type of `model` is no format"]
    );
    let elsewhere = Source::new("src/campaign/ledger.rs", text);
    let prose = Source::new("src/model/row.rs", "// Serialize\npub struct Row;");
    assert_eq!(formats_in_model(&[elsewhere, prose]), [""; 0]);
}

#[test]
fn sql_in_a_module_that_carries_texts_is_caught() {
    let text = "fn f(sql: &str) -> bool {\n    sql.starts_with(\"SELECT \")\n}";
    let found = sql_where_texts_are_carried(&[Source::new("src/checker/cycle.rs", text)]);
    assert_eq!(found, ["src/checker/cycle.rs:2: \"SELECT \" is SQL"]);
    let elsewhere = Source::new("src/statement/parse.rs", text);
    let prose = Source::new(
        "src/checker/cycle.rs",
        "const A: &str = \"Selected\"; // \"SELECT \"",
    );
    assert_eq!(sql_where_texts_are_carried(&[elsewhere, prose]), [""; 0]);
}
