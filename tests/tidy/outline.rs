//! What the tokens of a file say of modules: what each declares, imports and names by a path.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::token::{Token, TokenKind, tokens};
use crate::tree::Source;

/// A module of a file: the file itself, or an inline `mod`.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// The segments after `crate`.
    pub(crate) name: Vec<String>,
    /// Compiled for tests only, as far as its own file says so.
    pub(crate) test: bool,
    pub(crate) items: Vec<Item>,
    pub(crate) imports: Vec<Import>,
    pub(crate) children: Vec<Child>,
    pub(crate) mentions: Vec<Mention>,
    /// Every word outside `use` and outside what is compiled for tests only, with its first line.
    pub(crate) words: BTreeMap<String, usize>,
    /// Every string, character and number there, with its line.
    pub(crate) literals: Vec<(String, usize)>,
}

/// Something that the module itself declares; what stands inside functions is left out.
#[derive(Debug)]
pub(crate) struct Item {
    /// The word that declares it: `struct`, `fn`, ..
    pub(crate) kind: String,
    pub(crate) name: String,
    /// Declared `pub`, `pub(crate)`, `pub(super)` or `pub(in ..)`.
    pub(crate) visible: bool,
    pub(crate) line: usize,
    pub(crate) test: bool,
}

/// One name that a `use` brings in.
#[derive(Debug)]
pub(crate) struct Import {
    /// None of a glob.
    pub(crate) alias: Option<String>,
    pub(crate) path: Vec<String>,
    /// A re-export.
    pub(crate) visible: bool,
    pub(crate) line: usize,
    pub(crate) test: bool,
}

/// A module declared inside another.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) name: String,
    /// Its declaration has `#[cfg(test)]` or stands in a module that has.
    pub(crate) test: bool,
}

/// A path of two segments or more, outside a `use`.
#[derive(Debug)]
pub(crate) struct Mention {
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
    pub(crate) test: bool,
}

/// The first segment of a path that begins with `::`: it names a crate.
pub(crate) const GLOBAL: &str = "";

/// The name of the module that a file below `src/` is: `src/a/mod.rs` and `src/a.rs` are `a`.
pub(crate) fn module_name(path: &str) -> Vec<String> {
    let below = path.strip_prefix("src/").unwrap_or(path);
    let below = below.strip_suffix(".rs").unwrap_or(below);
    let mut name: Vec<String> = below.split('/').map(str::to_owned).collect();
    if name.last().is_some_and(|last| last == "mod") || name == ["lib"] {
        name.pop();
    }
    name
}

/// The modules of a file, its own first.
pub(crate) fn modules(source: &Source) -> Vec<Module> {
    let tokens = tokens(source);
    let mut reader = Reader {
        tokens: &tokens,
        modules: vec![Module {
            name: module_name(&source.path),
            ..Module::default()
        }],
    };
    reader.read(0..tokens.len(), Place::root());
    reader.modules
}

/// Where tokens stand.
#[derive(Clone, Copy)]
struct Place {
    module: usize,
    /// Directly in the module, not inside a function, type or impl block.
    items: bool,
    test: bool,
    /// In a `pub use`.
    exported: bool,
}

impl Place {
    fn root() -> Self {
        Self {
            module: 0,
            items: true,
            test: false,
            exported: false,
        }
    }
}

struct Reader<'a> {
    tokens: &'a [Token],
    modules: Vec<Module>,
}

impl Reader<'_> {
    fn read(&mut self, range: Range<usize>, outer: Place) {
        let mut place = outer;
        let mut at = range.start;
        while at < range.end {
            let token = &self.tokens[at];
            at = match (token.kind, token.text.as_str()) {
                (TokenKind::Sign, "#") => {
                    let open = at + 1 + usize::from(self.is(at + 1, "!"));
                    place.test |= self.is(open, "[") && self.is_for_tests(open);
                    at + 1
                }
                (TokenKind::Sign, ";") => {
                    place.test = outer.test;
                    at + 1
                }
                (TokenKind::Sign, ",") if !place.items => {
                    place.test = outer.test;
                    at + 1
                }
                (TokenKind::Open, opened) => {
                    let inside = Place {
                        items: false,
                        ..place
                    };
                    self.read(at + 1..token.close, inside);
                    if opened == "{" {
                        place.test = outer.test;
                    }
                    token.close + 1
                }
                (TokenKind::Word, "use") if !self.is(at + 1, "<") => {
                    let inside = Place {
                        exported: self.is_visible(at),
                        ..place
                    };
                    let end = self.import(at + 1, &mut Vec::new(), inside);
                    place.test = outer.test;
                    end
                }
                (TokenKind::Word, "mod") => self.module(at, &mut place, outer),
                (TokenKind::Word, _) => {
                    if place.items {
                        self.item(at, place);
                    }
                    self.path(at, place)
                }
                (TokenKind::Literal, text) => {
                    if !place.test {
                        let found = (text.to_owned(), token.line);
                        self.modules[place.module].literals.push(found);
                    }
                    at + 1
                }
                (TokenKind::Sign | TokenKind::Close, _) => at + 1,
            };
        }
    }

    fn is(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(text))
    }

    fn word(&self, at: usize) -> Option<&str> {
        let token = self.tokens.get(at)?;
        (token.kind == TokenKind::Word).then_some(token.text.as_str())
    }

    fn is_path_sign(&self, at: usize) -> bool {
        self.is(at, ":") && self.is(at + 1, ":")
    }

    /// Whether an attribute, given by its bracket, is `cfg` of `test` without a `not`.
    fn is_for_tests(&self, open: usize) -> bool {
        let inside = &self.tokens[open + 1..self.tokens[open].close];
        inside.first().is_some_and(|token| token.is("cfg"))
            && inside.iter().any(|token| token.is("test"))
            && !inside.iter().any(|token| token.is("not"))
    }

    /// Reads `mod name;` or `mod name { .. }`; the index after it.
    fn module(&mut self, at: usize, place: &mut Place, outer: Place) -> usize {
        let Some(name) = self.word(at + 1).map(str::to_owned) else {
            return at + 1;
        };
        let test = place.test;
        place.test = outer.test;
        self.modules[place.module].children.push(Child {
            name: name.clone(),
            test,
        });
        if !self.is(at + 2, "{") {
            return at + 2;
        }
        let mut path = self.modules[place.module].name.clone();
        path.push(name);
        self.modules.push(Module {
            name: path,
            test,
            ..Module::default()
        });
        let inside = Place {
            module: self.modules.len() - 1,
            items: true,
            test,
            exported: false,
        };
        let close = self.tokens[at + 2].close;
        self.read(at + 3..close, inside);
        close + 1
    }

    /// Notes what the word declares, if it declares something.
    fn item(&mut self, at: usize, place: Place) {
        let kinds = [
            "struct", "enum", "union", "trait", "type", "fn", "const", "static",
        ];
        let kind = &self.tokens[at];
        let name_at = at + 1 + usize::from(self.is(at + 1, "mut"));
        let Some(name) = self.word(name_at) else {
            return;
        };
        if !kinds.contains(&kind.text.as_str()) || kinds.contains(&name) {
            return;
        }
        let item = Item {
            kind: kind.text.clone(),
            name: name.to_owned(),
            visible: self.is_visible(at),
            line: kind.line,
            test: place.test,
        };
        self.modules[place.module].items.push(item);
    }

    /// Whether `pub` stands before a declaration, words such as `const` and `unsafe` between them.
    fn is_visible(&self, at: usize) -> bool {
        let mut before = at;
        while before > 0 {
            before -= 1;
            let token = &self.tokens[before];
            if token.is("pub") {
                return true;
            }
            if token.is(")") {
                while before > 0 && !self.is(before, "(") {
                    before -= 1;
                }
            } else if !["const", "unsafe", "async", "extern"].contains(&token.text.as_str()) {
                return false;
            }
        }
        false
    }

    /// Reads the tree of a `use` after `prefix`; the index after its `;`, `,` or closing brace.
    fn import(&mut self, mut at: usize, prefix: &mut Vec<String>, place: Place) -> usize {
        let depth = prefix.len();
        let line = self.tokens.get(at).map_or(0, |token| token.line);
        let mut alias = None;
        if self.is_path_sign(at) {
            prefix.push(GLOBAL.to_owned());
        }
        while let Some(token) = self.tokens.get(at) {
            if token.is("{") {
                let close = token.close;
                let mut inside = at + 1;
                while inside < close {
                    inside = self.import(inside, prefix, place);
                }
                prefix.truncate(depth);
                return close + 1 + usize::from(self.is(close + 1, ",") || self.is(close + 1, ";"));
            }
            if token.is(";") || token.is(",") || token.is("}") {
                break;
            }
            if token.is("as") {
                alias = self.word(at + 1).map(str::to_owned);
                at += 1;
            } else if token.is("*") || token.kind == TokenKind::Word {
                prefix.push(token.text.clone());
            }
            at += 1;
        }
        let mut path = prefix.clone();
        prefix.truncate(depth);
        let is_glob = path.last().is_some_and(|last| last == "*");
        if is_glob || path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let named = alias.or_else(|| path.last().cloned());
        self.modules[place.module].imports.push(Import {
            alias: named.filter(|_| !is_glob),
            path,
            visible: place.exported,
            line,
            test: place.test,
        });
        at + usize::from(!self.is(at, "}"))
    }

    /// Notes the path that begins at a word; the index of what follows it.
    fn path(&mut self, start: usize, place: Place) -> usize {
        let mut path = Vec::new();
        if start > 1 && self.is_path_sign(start - 2) {
            let continues = start > 2
                && (self.word(start - 3).is_some()
                    || [">", ")", "]"].iter().any(|end| self.is(start - 3, end)));
            if continues {
                return start + 1;
            }
            path.push(GLOBAL.to_owned());
        }
        let mut at = start;
        while let Some(word) = self.word(at).map(str::to_owned) {
            if !place.test {
                let words = &mut self.modules[place.module].words;
                words.entry(word.clone()).or_insert(self.tokens[at].line);
            }
            path.push(word);
            at += 1;
            if !(self.is_path_sign(at) && self.word(at + 2).is_some()) {
                break;
            }
            at += 2;
        }
        if path.len() > 1 {
            self.modules[place.module].mentions.push(Mention {
                path,
                line: self.tokens[start].line,
                test: place.test,
            });
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(text: &str) -> Vec<Module> {
        modules(&Source::new("src/a/b.rs", text))
    }

    fn imports(text: &str) -> Vec<String> {
        let shown = |import: &Import| {
            let alias = import.alias.as_deref().unwrap_or("*");
            format!("{}: {} as {alias}", import.line, import.path.join("::"))
        };
        outline(text)[0].imports.iter().map(shown).collect()
    }

    fn mentions(text: &str) -> Vec<String> {
        let found = &outline(text)[0].mentions;
        found
            .iter()
            .map(|mention| mention.path.join("::"))
            .collect()
    }

    #[test]
    fn imports_are_read_over_lines_groups_renames_and_globs() {
        assert_eq!(
            imports(
                "use crate::{\n    model::{self, Row as R},\n    engine::*,\n};\npub use ::url::Url;"
            ),
            [
                "2: crate::model as model",
                "2: crate::model::Row as R",
                "3: crate::engine as *",
                "5: ::url::Url as Url"
            ]
        );
        assert_eq!(imports("fn f() -> impl A + use<'_> {}"), [""; 0]);
    }

    #[test]
    fn paths_are_read_in_bodies_types_attributes_and_macros() {
        let text = "#[derive(serde::Serialize)] struct A(super::super::x::Y);\n\
                    fn f() { write!(w, \"a::b\", crate::cli::run::<u8>(a.b), ::url::parse()); }\n\
                    fn g() { <A as self::B>::c(); Vec::<u8>::new() }";
        assert_eq!(
            mentions(text),
            [
                "serde::Serialize",
                "super::super::x::Y",
                "crate::cli::run",
                "::url::parse",
                "self::B",
            ]
        );
    }

    #[test]
    fn what_is_compiled_for_tests_only_is_marked() {
        let text = "#[cfg(test)] use a::B; use a::C; #[cfg(test)] mod tests { use a::D; }\n\
                    #[cfg(not(test))] use a::E; #[cfg(test)] fn f() { a::x() } fn g() { a::y() }";
        let found = outline(text);
        let marks: Vec<bool> = found[0].imports.iter().map(|import| import.test).collect();
        assert_eq!(marks, [true, false, false]);
        let marks: Vec<bool> = found[0].mentions.iter().map(|path| path.test).collect();
        assert_eq!(marks, [true, false]);
        assert_eq!(found[1].name, ["a", "b", "tests"]);
        assert!(found[1].test && found[1].imports[0].test);
    }

    #[test]
    fn items_are_those_of_the_module_with_their_visibility() {
        let text = "pub(super) struct A { pub b: u8 } enum B {} pub const fn c() { struct D; }\n\
                    impl A { type E = u8; fn f() {} } pub(in crate::x) type G = u8; static mut H: u8 = 0;";
        let found: Vec<String> = outline(text)[0]
            .items
            .iter()
            .map(|item| format!("{} {} {}", item.kind, item.name, item.visible))
            .collect();
        assert_eq!(
            found,
            [
                "struct A true",
                "enum B false",
                "fn c true",
                "type G true",
                "static H false"
            ]
        );
    }
}
