//! Rules, the productions that write them, and the pieces of a production.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::builtin::Builtin;
use crate::dialect::{Capability, Dialect, TypeClass};

/// The rules from which the generator starts.
pub const STARTS: &[&str] = &[
    "begin",
    "end",
    "statement",
    "savepoint-statement",
    "read-statement",
    "lone-statement",
    "session-setting",
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
    pub capability: Capability,
    /// Only engines without the capability have the production.
    pub absent: bool,
}

/// A piece of a production.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProductionItem {
    /// SQL as it is.
    Text(String),
    /// A rule of the grammar, by its number.
    Rule(usize),
    Builtin(Builtin),
}

/// One way to write a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Production {
    /// Names it in statistics: rule and place among the rule's productions, `select#3`. An
    /// exclamation mark follows where it is meant to fail.
    pub label: Arc<str>,
    /// The text as the file has it.
    pub text: String,
    /// How often it is drawn, in proportion to the rule's other productions.
    pub weight: u32,
    /// All must hold for the engine.
    pub requires: Vec<Requirement>,
    /// Some column of the case must be of each.
    pub classes: Vec<TypeClass>,
    /// Its statements are written to be rejected half-way: acceptance says nothing about the grammar.
    pub meant_to_fail: bool,
    /// Its pieces, in order.
    pub items: Vec<ProductionItem>,
    /// The smallest nesting depth of rule calls with which it can be finished.
    pub height: u32,
}

/// Ends the label of a production whose statements are meant to be rejected.
const MEANT_TO_FAIL: char = '!';

/// Whether the production of this label is meant to be rejected.
pub fn is_meant_to_fail(label: &str) -> bool {
    label.ends_with(MEANT_TO_FAIL)
}

impl Production {
    /// The label of a rule's production, counted from 1: `select#3`, `failing-write#1!`.
    pub(super) fn label(rule: &str, number: usize, meant_to_fail: bool) -> Arc<str> {
        let mark = if meant_to_fail {
            MEANT_TO_FAIL.to_string()
        } else {
            String::new()
        };
        format!("{rule}#{number}{mark}").into()
    }

    /// Whether an engine of this dialect meets its requirements.
    pub fn fits(&self, dialect: &Dialect) -> bool {
        self.requires
            .iter()
            .all(|need| dialect.supports(need.capability) != need.absent)
    }
}

/// A nonterminal and the ways to write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrammarRule {
    pub name: String,
    /// In the order of the file.
    pub productions: Vec<Production>,
}

/// All rules of one engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grammar {
    pub(super) rules: Vec<GrammarRule>,
    /// The number of each rule by its name.
    pub(super) names: BTreeMap<String, usize>,
}

impl Grammar {
    /// The number of a rule.
    pub fn rule(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// The productions of a rule, by its number; none for an unknown one.
    pub fn productions(&self, rule: usize) -> &[Production] {
        self.rules.get(rule).map_or(&[], |rule| &rule.productions)
    }

    /// Every rule, in the order of the files.
    pub fn rules(&self) -> &[GrammarRule] {
        &self.rules
    }
}
