//! A run under judgement, as the plan and the verdict share it.

use std::collections::BTreeMap;

use super::super::evidence::{Evidence, Standing};
use crate::model::StatementId;

/// One run under judgement.
pub(super) struct Check<'a> {
    pub(super) evidence: &'a Evidence,
    /// How each statement that was answered may be judged.
    pub(super) standings: &'a BTreeMap<StatementId, Standing>,
}
