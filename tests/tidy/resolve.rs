//! Paths as written become modules of this crate, or crates outside it.

use std::collections::{BTreeMap, BTreeSet};

use crate::outline::{Child, GLOBAL, Import, Module, modules};
use crate::tree::Source;

/// All modules of the crate.
pub(crate) struct Program {
    pub(crate) modules: BTreeMap<Vec<String>, Located>,
    /// Names by which other crates are known.
    crates: BTreeSet<String>,
}

/// A module and the file it stands in.
pub(crate) struct Located {
    pub(crate) module: Module,
    pub(crate) file: String,
}

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Segments after `crate`.
    Inside(Vec<String>),
    /// Segments from the crate's name on.
    Outside(Vec<String>),
}

/// A path that a module names, resolved.
pub(crate) struct Used<'a> {
    pub(crate) by: &'a Located,
    pub(crate) target: Target,
    pub(crate) line: usize,
    /// In code that is compiled for tests only.
    pub(crate) test: bool,
    /// The `use` that names it; None of a path in the code.
    pub(crate) import: Option<&'a Import>,
}

impl Used<'_> {
    /// `src/a.rs:12`
    pub(crate) fn at(&self) -> String {
        format!("{}:{}", self.by.file, self.line)
    }
}

/// Renames that are followed before a path is given up.
const RENAMES_MAX: usize = 16;

impl Program {
    /// Reads the sources below `src/`; `crates` are the names of the dependencies.
    pub(crate) fn new(sources: &[Source], crates: &[&str]) -> Self {
        let standard = ["std", "core", "alloc"];
        let mut program = Self {
            modules: BTreeMap::new(),
            crates: standard
                .iter()
                .chain(crates)
                .map(|name| name.replace('-', "_"))
                .collect(),
        };
        for source in sources.iter().filter(|s| s.path.starts_with("src/")) {
            for module in modules(source) {
                let file = source.path.clone();
                program
                    .modules
                    .insert(module.name.clone(), Located { module, file });
            }
        }
        program.mark_tests();
        program
    }

    /// A module below one that is compiled for tests only is one itself.
    fn mark_tests(&mut self) {
        let names: Vec<Vec<String>> = self.modules.keys().cloned().collect();
        for name in names {
            let Some((last, parent)) = name.split_last() else {
                continue;
            };
            let test = self.modules.get(parent).is_some_and(|parent| {
                let child = |child: &&Child| child.name == *last;
                let declared = parent.module.children.iter().find(child);
                parent.module.test || declared.is_some_and(|child| child.test)
            });
            if let Some(located) = self.modules.get_mut(&name) {
                located.module.test |= test;
            }
        }
    }

    /// Every path that is used anywhere, as far as it can be resolved.
    pub(crate) fn used(&self) -> impl Iterator<Item = Used<'_>> {
        self.modules.values().flat_map(|by| self.used_by(by))
    }

    fn used_by<'a>(&'a self, by: &'a Located) -> impl Iterator<Item = Used<'a>> {
        let module = &by.module;
        let imports = module.imports.iter().map(|import| {
            let path = self.import_target(module, import.alias.as_deref(), &import.path, 0);
            (path, import.line, import.test, Some(import))
        });
        let mentions = module.mentions.iter().map(|mention| {
            let path = self.target(module, &mention.path, 0);
            (path, mention.line, mention.test, None)
        });
        imports
            .chain(mentions)
            .filter_map(move |(target, line, test, import)| {
                Some(Used {
                    by,
                    target: target?,
                    line,
                    test: test || module.test,
                    import,
                })
            })
    }

    /// What the path of a `use` leads to: the name that it brings in does not explain itself.
    fn import_target(
        &self,
        module: &Module,
        alias: Option<&str>,
        path: &[String],
        renames: usize,
    ) -> Option<Target> {
        if alias.is_some() && path.first().map(String::as_str) == alias {
            return self.without_imports(module, path);
        }
        self.target(module, path, renames)
    }

    /// What a path leads to when it is written in `module`.
    pub(crate) fn target(
        &self,
        module: &Module,
        path: &[String],
        renames: usize,
    ) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        if renames > RENAMES_MAX {
            return None;
        }
        let keywords = ["crate", "self", "super", GLOBAL];
        if keywords.contains(&first.as_str()) {
            return self.without_imports(module, path);
        }
        let named = |import: &&Import| import.alias.as_ref() == Some(first);
        if let Some(import) = module.imports.iter().find(named) {
            let alias = import.alias.as_deref();
            let target = self.import_target(module, alias, &import.path, renames + 1)?;
            return Some(extended(target, rest));
        }
        self.without_imports(module, path)
            .or_else(|| self.by_glob(module, path, renames))
    }

    fn without_imports(&self, module: &Module, path: &[String]) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        let inside = |name: &[String], rest: &[String]| Some(Target::Inside([name, rest].concat()));
        match first.as_str() {
            GLOBAL => return Some(Target::Outside(rest.to_vec())),
            "crate" | "rashomon" => return inside(&[], rest),
            "self" => return inside(&module.name, rest),
            "super" => {
                let ups = path
                    .iter()
                    .take_while(|segment| *segment == "super")
                    .count();
                let kept = module.name.len().checked_sub(ups)?;
                return inside(&module.name[..kept], &path[ups..]);
            }
            _ => {}
        }
        let declared = module.children.iter().any(|child| child.name == *first)
            || module.items.iter().any(|item| item.name == *first);
        if declared {
            return inside(&module.name, path);
        }
        self.crates
            .contains(first)
            .then(|| Target::Outside(path.to_vec()))
    }

    fn by_glob(&self, module: &Module, path: &[String], renames: usize) -> Option<Target> {
        let globs = module
            .imports
            .iter()
            .filter(|import| import.alias.is_none());
        globs.into_iter().find_map(|glob| {
            let Target::Inside(name) = self.target(module, &glob.path, renames + 1)? else {
                return None;
            };
            let from = &self.modules.get(&name)?.module;
            self.target(from, path, renames + 1)
                .filter(|target| matches!(target, Target::Inside(_)))
        })
    }

    /// The file that declares what a path inside the crate names, re-exports followed; of a
    /// module, its own file.
    pub(crate) fn file(&self, path: &[String], renames: usize) -> Option<&str> {
        let longest = (0..=path.len()).rev();
        let known = longest
            .map(|len| &path[..len])
            .find_map(|name| self.modules.get(name))?;
        let rest = &path[known.module.name.len()..];
        let own = Some(known.file.as_str());
        let Some(name) = rest.first() else {
            return own;
        };
        let declares = known.module.items.iter().any(|item| item.name == *name);
        if declares || renames > RENAMES_MAX {
            return own;
        }
        match self.target(&known.module, rest, renames) {
            Some(Target::Inside(further)) if further != path => self.file(&further, renames + 1),
            _ => own,
        }
    }
}

fn extended(target: Target, rest: &[String]) -> Target {
    match target {
        Target::Inside(name) => Target::Inside([name.as_slice(), rest].concat()),
        Target::Outside(name) => Target::Outside([name.as_slice(), rest].concat()),
    }
}

#[test]
fn paths_resolve_through_self_super_renames_and_globs() {
    let sources = [
        Source::new("src/lib.rs", "pub mod a; pub mod b;"),
        Source::new(
            "src/b.rs",
            "mod inner; pub use inner::Deep; use std::fs as files;",
        ),
        Source::new("src/b/inner.rs", "pub struct Deep;"),
        Source::new(
            "src/a/mod.rs",
            "mod leaf; use crate::b as other; use std::{time, fs::File}; pub struct Own;",
        ),
        Source::new(
            "src/a/leaf.rs",
            "use super::super::b; mod tests { use super::*; }",
        ),
    ];
    let program = Program::new(&sources, &["tokio-postgres"]);
    let resolved = |module: &str, path: &str| {
        let split = |text: &str| -> Vec<String> { text.split("::").map(str::to_owned).collect() };
        let module = &program.modules[&split(module)].module;
        match program.target(module, &split(path), 0) {
            Some(Target::Inside(path)) => format!("crate::{}", path.join("::")),
            Some(Target::Outside(path)) => path.join("::"),
            None => "?".to_owned(),
        }
    };
    assert_eq!(resolved("a", "other::Deep"), "crate::b::Deep");
    assert_eq!(resolved("a", "leaf::f"), "crate::a::leaf::f");
    assert_eq!(resolved("a", "time::Instant"), "std::time::Instant");
    assert_eq!(resolved("a", "File"), "std::fs::File");
    assert_eq!(
        resolved("a", "tokio_postgres::Client"),
        "tokio_postgres::Client"
    );
    assert_eq!(resolved("a", "::tokio::spawn"), "tokio::spawn");
    assert_eq!(resolved("a", "String::new"), "?");
    assert_eq!(resolved("a::leaf", "super::Own"), "crate::a::Own");
    assert_eq!(resolved("a::leaf", "b::Deep"), "crate::b::Deep");
    assert_eq!(resolved("a::leaf::tests", "b::Deep"), "crate::b::Deep");
    let file = |path: &[&str]| {
        let path: Vec<String> = path.iter().map(|&segment| segment.to_owned()).collect();
        program.file(&path, 0)
    };
    assert_eq!(file(&["b", "Deep", "new"]), Some("src/b/inner.rs"));
    assert_eq!(file(&["a", "Own"]), Some("src/a/mod.rs"));
    assert_eq!(file(&["b"]), Some("src/b.rs"));
}
