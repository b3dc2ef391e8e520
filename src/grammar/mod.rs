//! Grammar files as weighted productions.
//!
//! `grammars/common/*.grammar` holds the shape and weight of statements. A rule in
//! `grammars/<engine>/` replaces the common one for that engine.
//! `docs/grammar-format.md` describes the format.

mod builtin;
mod reader;
mod rule;
#[cfg(test)]
mod tests;

use std::path::Path;

pub use builtin::{AssignedRows, Builtin, Local, NewRow, Picked, Wanted, class_word};
pub use rule::{
    Grammar, GrammarError, GrammarRule, Production, ProductionItem, Requirement, STARTS,
    is_meant_to_fail,
};

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
        "merge.grammar",
        include_str!("../../grammars/common/merge.grammar"),
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
        "failing.grammar",
        include_str!("../../grammars/common/failing.grammar"),
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
        "postgres",
        "select.grammar",
        include_str!("../../grammars/postgres/select.grammar"),
    ),
    (
        "sqlite",
        "transaction.grammar",
        include_str!("../../grammars/sqlite/transaction.grammar"),
    ),
];

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

    /// A grammar from a folder with the subfolders `common` and, optionally, the engine's.
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
