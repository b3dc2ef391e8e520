//! The registry of known behaviour: which findings are explained, and by what.
//!
//! A rule names everything that a finding it explains may show (`rule`), so that it can never hide
//! another bug. A finding that a rule explains on a version that claims the fix is a regression, not
//! known.

mod entry;
mod read;
mod rule;
#[cfg(test)]
mod tests;

use std::path::Path;

pub use self::entry::{Known, KnownStatus};
use super::FormatError;
use crate::engine::Identity;
use crate::model::Signature;
use crate::oracle::{Explained, Explains};

/// The registry that comes with the program.
const BUILTIN: &str = include_str!("../../../dialects/known.toml");

/// The registry of a folder of findings, below it.
pub const REGISTRY_FILE: &str = "known.toml";

/// What the registry says of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match<'a> {
    /// Nothing explains it.
    None,
    Known(&'a Known),
    /// An entry explains it, and this server claims the fix.
    Regression(&'a Known),
}

/// All entries, in the order of the file: the first that matches counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registry {
    pub entries: Vec<Known>,
}

impl Registry {
    /// The entries that come with the program.
    ///
    /// # Errors
    /// When the built-in file is broken, which a test rules out.
    pub fn builtin() -> Result<Self, FormatError> {
        Self::read(BUILTIN, "dialects/known.toml")
    }

    /// Reads a registry file.
    ///
    /// # Errors
    /// What cannot be read or is not as `docs/known-cases.md` describes, with its place.
    pub fn load(path: &Path) -> Result<Self, FormatError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|cause| FormatError {
            file: file.clone(),
            line: 1,
            column: 1,
            message: format!("cannot read the file: {cause}"),
        })?;
        Self::read(&text, &file)
    }

    /// Reads a registry from text.
    ///
    /// # Errors
    /// As [`Registry::load`].
    pub fn read(text: &str, file: &str) -> Result<Self, FormatError> {
        let entries = read::read(text, file)?;
        Ok(Self { entries })
    }

    /// As [`Registry::read`]; no entries where the text is empty.
    ///
    /// # Errors
    /// As [`Registry::load`].
    pub fn read_or_empty(text: &str, file: &str) -> Result<Self, FormatError> {
        if text.trim().is_empty() {
            return Ok(Self::empty());
        }
        Self::read(text, file)
    }

    /// The registry of a folder of findings: its file `known.toml`. No entries where it has none.
    ///
    /// # Errors
    /// As [`Registry::load`].
    pub fn of_folder(folder: &Path) -> Result<Self, FormatError> {
        let path = folder.join(REGISTRY_FILE);
        if path.exists() {
            Self::load(&path)
        } else {
            Ok(Self::empty())
        }
    }

    /// No entries: nothing is explained.
    pub fn empty() -> Self {
        Self::default()
    }

    /// The registry as it speaks of one server.
    pub fn on<'a>(&'a self, server: &'a Identity) -> RegistryOn<'a> {
        RegistryOn {
            registry: self,
            server,
        }
    }

    /// These entries, then the others.
    pub fn extended(mut self, others: Self) -> Self {
        self.entries.extend(others.entries);
        self
    }

    /// What explains a finding on a server.
    pub fn judge(&self, signature: &Signature, server: &Identity) -> Match<'_> {
        let mut regression = Match::None;
        for known in &self.entries {
            if !known.explains(signature, server) {
                continue;
            }
            if !known.claims_fix(server) {
                return Match::Known(known);
            }
            if regression == Match::None {
                regression = Match::Regression(known);
            }
        }
        regression
    }

    /// The entry that explains a finding, unless the server claims the fix.
    pub fn find(&self, signature: &Signature, server: &Identity) -> Option<&Known> {
        match self.judge(signature, server) {
            Match::Known(known) => Some(known),
            Match::None | Match::Regression(_) => None,
        }
    }
}

/// The registry as it speaks of one server.
#[derive(Clone, Copy, Debug)]
pub struct RegistryOn<'a> {
    registry: &'a Registry,
    server: &'a Identity,
}

impl Explains for RegistryOn<'_> {
    fn explain(&self, signature: &Signature) -> Explained {
        match self.registry.judge(signature, self.server) {
            Match::Known(known) => Explained::Known(known.id.clone()),
            Match::Regression(known) => Explained::Regression(known.id.clone()),
            Match::None => Explained::Not,
        }
    }
}
