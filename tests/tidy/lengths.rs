//! Functions and files are short.

use std::collections::BTreeSet;

use crate::token::{Token, TokenKind, tokens};
use crate::tree::{Source, complain, sources};

/// Lines of code a function may have between its braces, blank lines and comments not counted: as
/// clippy counts.
const FUNCTION_LINES_MAX: usize = 70;

/// Lines a file may have.
const FILE_LINES_MAX: usize = 600;

/// A function with its lines of code.
#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    line: usize,
    code: usize,
}

/// The functions of a file that have a body.
fn functions(source: &Source) -> Vec<Function> {
    let tokens = tokens(source);
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let Some(name) = tokens.get(at + 1) else {
            continue;
        };
        if !tokens[at].is("fn") || name.kind != TokenKind::Word {
            continue;
        }
        let Some(body) = body(&tokens, at + 2) else {
            continue;
        };
        let inside = &tokens[body + 1..tokens[body].close];
        let lines: BTreeSet<usize> = inside
            .iter()
            .flat_map(|token| token.line..=token.last_line)
            .collect();
        found.push(Function {
            name: name.text.clone(),
            line: tokens[at].line,
            code: lines.len(),
        });
    }
    found
}

/// The brace that opens a function's body; None of a declaration.
fn body(tokens: &[Token], mut at: usize) -> Option<usize> {
    loop {
        let token = tokens.get(at)?;
        if token.is("{") {
            return Some(at);
        }
        if token.is(";") || token.kind == TokenKind::Close {
            return None;
        }
        at = token.close.max(at) + 1;
    }
}

fn violations(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        let at = &source.path;
        let lines = source.text.lines().count();
        if lines > FILE_LINES_MAX {
            complaints.push(format!("{at}: {lines} lines, at most {FILE_LINES_MAX}"));
        }
        for Function { name, line, code } in functions(source) {
            if code > FUNCTION_LINES_MAX {
                complaints.push(format!(
                    "{at}:{line}: {name} has {code} lines of code, at most {FUNCTION_LINES_MAX}"
                ));
            }
        }
    }
    complaints
}

#[test]
fn functions_and_files_are_short() {
    complain(&violations(&sources()));
}

#[test]
fn a_long_function_is_caught_wherever_it_stands() {
    for (head, tail) in [
        ("fn long() {\n", "}"),
        (
            "impl A {\npub const fn long<T>(\n    a: u8,\n) -> [u8; 2]\nwhere\n    T: B,\n{\n",
            "}\n}",
        ),
    ] {
        let of = |lines: usize| {
            let text = format!("{head}{}{tail}", "    one();\n".repeat(lines));
            violations(&[Source::new("src/a.rs", &text)])
        };
        assert_eq!(of(FUNCTION_LINES_MAX), [""; 0]);
        let found = of(FUNCTION_LINES_MAX + 1);
        assert!(
            found.len() == 1 && found[0].contains("long has 71 lines"),
            "{found:?}"
        );
    }
}

#[test]
fn a_long_file_is_caught() {
    let of = |lines: usize| violations(&[Source::new("src/a.rs", &"// why\n".repeat(lines))]);
    assert_eq!(of(FILE_LINES_MAX), [""; 0]);
    assert_eq!(of(FILE_LINES_MAX + 1), ["src/a.rs: 601 lines, at most 600"]);
}

#[test]
fn comments_and_blank_lines_are_no_code_and_strings_are() {
    let text = "trait A { fn declared(&self); }\n\
                fn a() {\n    // why\n    one();\n\n    /* why\n    not */\n    \"x\n    y\";\n}\n";
    let found = functions(&Source::new("src/a.rs", text));
    let expected = Function {
        name: "a".to_owned(),
        line: 2,
        code: 3,
    };
    assert_eq!(found, [expected]);
}
