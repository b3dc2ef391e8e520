//! Grammar files as weighted productions.
//!
//! `grammars/common/*.grammar` holds the shape and weight of statements, `grammars/<engine>/` what
//! an engine has otherwise: a rule defined there takes the place of the common one.
//! `docs/grammar-format.md` describes the format.

mod builtin;
mod reader;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::dialect::Dialect;

pub use builtin::{Builtin, Local, NewRow, Rows, Wanted, class_word};

/// The rules from which the generator starts.
pub const STARTS: &[&str] = &[
    "begin",
    "end",
    "statement",
    "read-statement",
    "lone-statement",
];

/// The grammar files that come with the program: folder, name and text.
const BUILTIN: &[(&str, &str, &str)] = &[
    (
        "common",
        "transaction.grammar",
        include_str!("../../grammars/common/transaction.grammar"),
    ),
    (
        "common",
        "select.grammar",
        include_str!("../../grammars/common/select.grammar"),
    ),
    (
        "common",
        "insert.grammar",
        include_str!("../../grammars/common/insert.grammar"),
    ),
    (
        "common",
        "update.grammar",
        include_str!("../../grammars/common/update.grammar"),
    ),
    (
        "common",
        "delete.grammar",
        include_str!("../../grammars/common/delete.grammar"),
    ),
    (
        "common",
        "condition.grammar",
        include_str!("../../grammars/common/condition.grammar"),
    ),
    (
        "common",
        "expression.grammar",
        include_str!("../../grammars/common/expression.grammar"),
    ),
    (
        "sqlite",
        "transaction.grammar",
        include_str!("../../grammars/sqlite/transaction.grammar"),
    ),
];

/// A grammar that cannot be used, with the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrammarError {
    #[error("{file}:{line}:{column}: {message}")]
    Text {
        file: String,
        line: usize,
        column: usize,
        message: String,
    },
    #[error("{file}: {cause}")]
    Read { file: String, cause: String },
}

/// A feature that a production needs, or must not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    pub capability: String,
    pub absent: bool,
}

/// A piece of a production.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// SQL as it is.
    Text(String),
    /// A rule of the grammar, by its number.
    Rule(usize),
    Builtin(Builtin),
}

/// One way to write a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Production {
    /// Names it in statistics: rule and place among the rule's productions, `select#3`.
    pub label: Arc<str>,
    /// The text as the file has it.
    pub text: String,
    pub weight: u32,
    pub requires: Vec<Requirement>,
    pub items: Vec<Item>,
    /// The fewest rule calls, nested, that finish it.
    pub height: u32,
}

impl Production {
    /// Whether an engine of this dialect can have it.
    pub fn fits(&self, dialect: &Dialect) -> bool {
        self.requires
            .iter()
            .all(|need| dialect.supports(&need.capability) != need.absent)
    }
}

/// A nonterminal and the ways to write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub name: String,
    pub productions: Vec<Production>,
}

/// All rules of one engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grammar {
    rules: Vec<Rule>,
    names: BTreeMap<String, usize>,
}

impl Grammar {
    /// The grammar that comes with the program.
    ///
    /// # Errors
    /// None in a build whose tests passed: the files are compiled in.
    pub fn builtin(engine: &str) -> Result<Self, GrammarError> {
        let folder = |wanted: &str| {
            BUILTIN
                .iter()
                .filter(|(folder, ..)| *folder == wanted)
                .map(|(folder, name, text)| {
                    (format!("grammars/{folder}/{name}"), (*text).to_owned())
                })
                .collect()
        };
        reader::read(folder("common"), folder(engine))
    }

    /// A grammar from a folder with the subfolders `common` and, if it has anything of its own,
    /// the engine's.
    ///
    /// # Errors
    /// A file that cannot be read or does not follow the format; a rule that is used and not
    /// defined, defined and not used, or defined twice in one folder.
    pub fn load(folder: &Path, engine: &str) -> Result<Self, GrammarError> {
        let common = files(&folder.join("common"))?;
        let own = folder.join(engine);
        let own = if own.is_dir() {
            files(&own)?
        } else {
            Vec::new()
        };
        reader::read(common, own)
    }

    /// The number of a rule.
    pub fn rule(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// A rule by its number.
    pub fn productions(&self, rule: usize) -> &[Production] {
        self.rules.get(rule).map_or(&[], |rule| &rule.productions)
    }

    /// Every rule, in the order of the files.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }
}

/// The grammar files of a folder, by name.
fn files(folder: &Path) -> Result<Vec<(String, String)>, GrammarError> {
    let failed = |path: &Path, cause: std::io::Error| GrammarError::Read {
        file: path.display().to_string(),
        cause: cause.to_string(),
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|cause| failed(folder, cause))? {
        let path = entry.map_err(|cause| failed(folder, cause))?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "grammar")
        {
            let text = std::fs::read_to_string(&path).map_err(|cause| failed(&path, cause))?;
            found.push((path.display().to_string(), text));
        }
    }
    found.sort();
    Ok(found)
}
