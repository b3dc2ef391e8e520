//! The grammar files that come with the program, and what broken ones are told.

use super::reader::read;
use super::{Grammar, STARTS};

#[test]
fn builtin_grammars_load_and_define_every_start_rule() {
    for engine in ["mariadb", "mysql", "sqlite", "unheard-of"] {
        let grammar = Grammar::builtin(engine).unwrap_or_else(|error| panic!("{engine}: {error}"));
        for start in STARTS {
            assert!(grammar.rule(start).is_some(), "{engine} {start}");
        }
    }
}

#[test]
fn an_engine_overrides_a_rule() {
    let texts = |engine: &str| -> Vec<String> {
        let grammar = Grammar::builtin(engine).expect("built in");
        let rule = grammar.rule("begin").expect("a start");
        grammar
            .productions(rule)
            .iter()
            .map(|p| p.text.clone())
            .collect()
    };
    assert!(texts("sqlite").contains(&"<open-transaction immediate>".to_owned()));
    assert!(!texts("mysql").contains(&"<open-transaction immediate>".to_owned()));
}

/// Reads one file that has all starts besides the given text, and answers with the error.
fn error(text: &str) -> String {
    let starts = "begin:\n 1 B\nend:\n 1 E\nread-statement:\n 1 R\nlone-statement:\n 1 L\nsession-setting:\n 1 S\n";
    let text = format!("{text}{starts}savepoint-statement:\n 1 SP\n");
    match read(vec![("g.grammar".to_owned(), text)], Vec::new()) {
        Ok(_) => "no error".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// Texts and what is said of them.
const BROKEN: &[(&str, &str)] = &[
    ("statement:\n 1 SELECT 1\n", "no error"),
    (
        "statement:\n 1 SELECT <other>\n",
        "g.grammar:2:11: rule \"other\" is not defined",
    ),
    (
        "statement:\n 1 S\nlost:\n 1 L\n",
        "g.grammar:3:1: rule \"lost\" is never used",
    ),
    (
        "statement:\n SELECT\n",
        "g.grammar:2:2: expected the weight of a production: a number above 0",
    ),
    (
        "statement:\n 0 SELECT\n",
        "g.grammar:2:2: expected the weight of a production: a number above 0",
    ),
    (
        " 1 SELECT\n",
        "g.grammar:1:1: expected a rule name and a colon before the first production",
    ),
    (
        "statement\n 1 SELECT\n",
        "g.grammar:1:1: expected a rule name and a colon, or a production indented by spaces",
    ),
    (
        "statement:\n",
        "g.grammar:1:1: rule \"statement\" has no production",
    ),
    (
        "statement:\n 1 <table a>\n",
        "g.grammar:2:4: \"a\" is not bound: expected <bind a>, <derive a>, <base a ..> or \
             <pick a ..> before it in this production",
    ),
    (
        "statement:\n 1 <bind a>\n   | <key a\n",
        "g.grammar:3:6: expected > at the end of a nonterminal",
    ),
    (
        "statement:\n 1 <column whole>\n",
        "g.grammar:2:4: unknown word \"whole\": expected one of \
          integer, decimal, real, text, bytes, temporal, unsigned, collated, time, json",
    ),
    (
        "statement:\n 1 <commit now>\n",
        "g.grammar:2:4: <commit> takes no argument \"now\"",
    ),
    (
        "statement:\n 1 <a b>\n",
        "g.grammar:2:4: <a b>: only built-in nonterminals take arguments",
    ),
    (
        "statement:\n 1 S\nstatement:\n 1 S\n",
        "g.grammar:3:1: rule \"statement\" is defined already, at g.grammar:1",
    ),
    (
        "statement:\n 1 <x>\nx:\n 1 a <x>\n",
        "g.grammar:3:1: rule \"x\" never terminates",
    ),
    (
        "commit:\n 1 S\n",
        "g.grammar:1:1: \"commit\" is a built-in nonterminal",
    ),
];

#[test]
fn errors_name_the_place_and_what_was_expected() {
    for (text, expected) in BROKEN {
        let found = error(text);
        // The rule that calls the endless one is endless too, and comes first.
        let found = found.replace("1:1: rule \"statement\" never", "3:1: rule \"x\" never");
        assert_eq!(found, *expected, "{text}");
    }
    assert_eq!(
        error("statement:\n 1 [savepiont] S\n"),
        "g.grammar:2:5: unknown capability \"savepiont\": the nearest known one is \"savepoint\""
    );
}

#[test]
fn comparison_signs_are_no_nonterminals() {
    assert_eq!(
        error("statement:\n 1 a < b AND c <> d AND e <= f\n"),
        "no error"
    );
}
