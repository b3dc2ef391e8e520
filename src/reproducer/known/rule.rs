//! What a finding must look like to be explained: everything it shows, not only something.

use std::collections::BTreeMap;

use crate::engine::Identity;
use crate::model::{Direction, FindingKind, IsolationLevel, Signature, StatementKind};
use crate::oracle::tell_alike;

/// The rule of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The findings of one group: those with this signature.
    Signature {
        id: String,
        /// Of the server, by name.
        variables: BTreeMap<String, String>,
    },
    Shape(Box<Shape>),
}

/// The whole shape of a finding. A feature that the rule does not name is another bug.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) kind: FindingKind,
    /// Or one that tells its findings as this one does.
    pub(super) oracle: String,
    /// Every level of the finding is one of these; a claimed level is none.
    pub(super) levels: Vec<IsolationLevel>,
    /// At least one level is one of these, where there are any.
    pub(super) levels_any: Vec<IsolationLevel>,
    /// Its direction is one of these.
    pub(super) directions: Vec<Direction>,
    /// The statement that differs is of one of these kinds.
    pub(super) statements: Vec<StatementKind>,
    /// Each is there.
    pub(super) features_all: Vec<String>,
    /// One of them at least is there, where there are any.
    pub(super) features_any: Vec<String>,
    /// They may be there.
    pub(super) features_may: Vec<String>,
    /// Of the server, by name.
    pub(super) variables: BTreeMap<String, String>,
}

impl Rule {
    pub(super) fn explains(&self, signature: &Signature, server: &Identity) -> bool {
        let is = |(name, value): (&String, &String)| {
            let got = server.variables.get(name);
            got.is_some_and(|got| got.eq_ignore_ascii_case(value))
        };
        self.has_shape(signature) && self.variables().iter().all(is)
    }

    /// What the server's variables have to be, by name.
    pub(super) fn variables(&self) -> &BTreeMap<String, String> {
        match self {
            Self::Signature { variables, .. } => variables,
            Self::Shape(shape) => &shape.variables,
        }
    }

    /// Whether the finding looks as the rule says, on whatever server.
    pub(super) fn has_shape(&self, signature: &Signature) -> bool {
        match self {
            Self::Signature { id, .. } => *id == signature.id(),
            Self::Shape(shape) => shape.is_of(signature),
        }
    }
}

impl Shape {
    /// Findings of this kind differ in a direction, at a statement.
    pub(super) fn is_about_an_outcome(&self) -> bool {
        match self.kind {
            FindingKind::Wrong(_)
            | FindingKind::MiscountedWrite
            | FindingKind::NotSerializable
            | FindingKind::UnstableSerialAnswer => true,
            FindingKind::InternalError
            | FindingKind::Crash
            | FindingKind::Hang
            | FindingKind::IndexDisagrees
            | FindingKind::TableCheckFailed
            | FindingKind::LostCommit
            | FindingKind::TornTransaction
            | FindingKind::UncommittedSurvives
            | FindingKind::UnexplainedRow
            | FindingKind::UnexpectedOutcome
            | FindingKind::UnexplainedChange
            | FindingKind::RefusalWithoutCause
            | FindingKind::WrongTransactionEnd
            | FindingKind::WrongSavepoint
            | FindingKind::WrongCommandTag
            | FindingKind::NumberGivenAgain
            | FindingKind::MistoldNumber
            | FindingKind::Lock(_)
            | FindingKind::Anomaly(_) => false,
        }
    }

    fn is_of(&self, signature: &Signature) -> bool {
        let is_one_of = |levels: &[IsolationLevel], text: &String| {
            let mut levels = levels.iter().map(ToString::to_string);
            levels.any(|level| level == *text)
        };
        let allowed = |text: &String| is_one_of(&self.levels, text);
        let wanted = |text: &String| is_one_of(&self.levels_any, text);
        if self.kind != signature.kind
            || !tell_alike(&self.oracle, &signature.oracle)
            || signature.levels.is_empty()
            || !signature.levels.iter().all(allowed)
            || !(self.levels_any.is_empty() || signature.levels.iter().any(wanted))
        {
            return false;
        }
        let (mut directions, mut statements) = (0, 0);
        for feature in &signature.features {
            let kind = StatementKind::ALL
                .into_iter()
                .find(|kind| kind.slug() == feature);
            let allowed = if let Some(direction) = feature.strip_prefix("differs:") {
                directions += 1;
                self.directions.iter().any(|d| d.slug() == direction)
            } else if let Some(kind) = kind {
                statements += 1;
                self.statements.contains(&kind)
            } else {
                self.features_all.contains(feature)
                    || self.features_any.contains(feature)
                    || self.features_may.contains(feature)
            };
            if !allowed {
                return false;
            }
        }
        let has = |feature: &String| signature.features.contains(feature);
        // An anomaly names every kind of statement that made one of its dependencies, and a fault of a table every kind of write
        // that it may be of.
        let names_all = matches!(
            self.kind,
            FindingKind::Anomaly(_) | FindingKind::IndexDisagrees | FindingKind::TableCheckFailed
        );
        let statements = if names_all {
            statements.min(1)
        } else {
            statements
        };
        directions == usize::from(!self.directions.is_empty())
            && statements == usize::from(!self.statements.is_empty())
            && self.features_all.iter().all(has)
            && (self.features_any.is_empty() || self.features_any.iter().any(has))
    }
}
