//! One entry of the registry: what explains a finding, and where it holds.

use super::rule::Rule;
use crate::dialect::ServerVersion;
use crate::engine::Identity;
use crate::model::Signature;

/// What the maintainers said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownStatus {
    Open,
    Fixed,
    /// Accepted as a bug that stays.
    WontFix,
    /// Documented semantics.
    ByDesign,
}

/// Versions of one engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EngineVersions {
    pub(super) engine: String,
    pub(super) bounds: Vec<(Comparison, ServerVersion)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    AtLeast,
    Above,
    AtMost,
    Below,
    Exactly,
}

/// One entry of the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub id: String,
    pub status: KnownStatus,
    pub url: Option<String>,
    pub note: Option<String>,
    /// The case of the corpus that shows it.
    pub case: Option<String>,
    /// A signature that the rule explains, as `replay` prints it.
    pub example: Option<Signature>,
    pub(super) engines: Vec<EngineVersions>,
    pub(super) rule: Rule,
    /// The first fixed release of each branch: engine and version.
    pub(super) fixed_in: Vec<(String, ServerVersion)>,
}

impl Known {
    pub(super) fn explains(&self, signature: &Signature, server: &Identity) -> bool {
        self.rule.explains(signature, server)
            && self.engines.iter().any(|engine| engine.holds(server))
    }

    /// The signature by which it explains, where it does not do so by a shape.
    pub fn signature(&self) -> Option<&str> {
        match &self.rule {
            Rule::Signature { id, .. } => Some(id),
            Rule::Shape(_) => None,
        }
    }

    /// Whether the server's version is one that claims the fix: not older than the fixed release
    /// of its branch, or of a branch newer than every one that got the fix.
    pub fn claims_fix(&self, server: &Identity) -> bool {
        let branch =
            |version: &ServerVersion| version.0.iter().take(2).copied().collect::<Vec<_>>();
        let fixes: Vec<&ServerVersion> = self
            .fixed_in
            .iter()
            .filter(|(engine, _)| *engine == server.engine)
            .map(|(_, version)| version)
            .collect();
        match fixes
            .iter()
            .find(|fix| branch(fix) == branch(&server.version))
        {
            Some(fix) => server.version >= **fix,
            None => fixes
                .iter()
                .max()
                .is_some_and(|fix| server.version >= **fix),
        }
    }
}

impl EngineVersions {
    fn holds(&self, server: &Identity) -> bool {
        self.engine == server.engine
            && self.bounds.iter().all(|(comparison, bound)| {
                let version = &server.version;
                match comparison {
                    Comparison::AtLeast => version >= bound,
                    Comparison::Above => version > bound,
                    Comparison::AtMost => version <= bound,
                    Comparison::Below => version < bound,
                    Comparison::Exactly => version == bound,
                }
            })
    }
}
