//! Attributes and macros that nothing may have, or the command line alone.

use crate::token::{Token, tokens};
use crate::tree::{Source, complain, program, sources};

/// What to do instead of each attribute.
const ATTRIBUTES: &[(&str, &str)] = &[
    ("ignore", "assert today's answer, with a FIXME"),
    ("allow", "say #[expect(lint, reason = \"..\")]"),
];

/// What to do instead of each macro.
const MACROS: &[(&str, &str)] = &[
    ("todo", "finish it"),
    ("unimplemented", "finish it"),
    ("dbg", "remove it"),
];

const PRINTS: &[&str] = &["print", "println", "eprint", "eprintln"];

/// Whether the token at an index is the name of a macro that is called.
fn is_call(tokens: &[Token], at: usize, name: &str) -> bool {
    let opens = |token: &Token| ["(", "[", "{"].iter().any(|open| token.is(open));
    tokens[at].is(name)
        && tokens.get(at + 1).is_some_and(|sign| sign.is("!"))
        && tokens.get(at + 2).is_some_and(opens)
}

/// Whether an attribute of that name begins at an index, alone or as what `cfg_attr` adds.
fn is_attribute(tokens: &[Token], at: usize, name: &str) -> bool {
    let inner = usize::from(tokens.get(at + 1).is_some_and(|sign| sign.is("!")));
    let open = at + 1 + inner;
    if !tokens[at].is("#") || !tokens.get(open).is_some_and(|token| token.is("[")) {
        return false;
    }
    let inside = &tokens[open + 1..tokens[open].close];
    let conditional = inside.first().is_some_and(|token| token.is("cfg_attr"));
    inside.first().is_some_and(|token| token.is(name))
        || conditional && inside.iter().any(|token| token.is(name))
}

fn put_off(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        let tokens = tokens(source);
        for at in 0..tokens.len() {
            let attributes = ATTRIBUTES
                .iter()
                .filter(|(name, _)| is_attribute(&tokens, at, name));
            let macros = MACROS.iter().filter(|(name, _)| is_call(&tokens, at, name));
            for (name, advice) in attributes.chain(macros) {
                let line = tokens[at].line;
                complaints.push(format!("{}:{line}: {name}: {advice}", source.path));
            }
        }
    }
    complaints
}

fn prints(sources: &[Source]) -> Vec<String> {
    let may_print = |path: &str| path.starts_with("src/cli/") || path == "src/main.rs";
    let mut complaints = Vec::new();
    for source in sources.iter().filter(|source| !may_print(&source.path)) {
        let tokens = tokens(source);
        for at in 0..tokens.len() {
            if PRINTS.iter().any(|name| is_call(&tokens, at, name)) {
                let line = tokens[at].line;
                let at = &source.path;
                complaints.push(format!("{at}:{line}: prints; take a `&mut dyn Write`"));
            }
        }
    }
    complaints
}

#[test]
fn nothing_is_put_off_or_switched_off() {
    complain(&put_off(&sources()));
}

#[test]
fn only_the_command_line_prints() {
    complain(&prints(&program()));
}

#[test]
fn what_is_put_off_or_switched_off_is_caught() {
    for text in [
        "#[ignore] fn f() {}",
        "#[test]\n#[ignore = \"slow\"] fn f() {}",
        "#![allow(dead_code)]",
        "#[allow(\n    clippy::all\n)] fn f() {}",
        "#[cfg_attr(test, allow(dead_code))] fn f() {}",
        "fn f() { todo!() }",
        "fn f() { unimplemented ! [] }",
        "fn f() { dbg!(1) }",
    ] {
        assert_eq!(
            put_off(&[Source::new("tests/a.rs", text)]).len(),
            1,
            "{text}"
        );
    }
    for text in [
        "#[expect(dead_code, reason = \"..\")] fn f() {}",
        "// todo!()\nconst A: &str = \"#[ignore]\"; fn allow() { let ignore = todo; }",
    ] {
        assert_eq!(
            put_off(&[Source::new("tests/a.rs", text)]),
            [""; 0],
            "{text}"
        );
    }
}

#[test]
fn a_print_outside_the_command_line_is_caught() {
    let text = "fn f() { println!(\"a\"); std::eprint!(\"b\") }";
    assert_eq!(prints(&[Source::new("src/campaign/mod.rs", text)]).len(), 2);
    assert_eq!(prints(&[Source::new("src/cli/mod.rs", text)]), [""; 0]);
    let text = "fn print(w: &mut W) { writeln!(w, \"println!()\"); print(w) } // println!()";
    assert_eq!(prints(&[Source::new("src/campaign/mod.rs", text)]), [""; 0]);
}
