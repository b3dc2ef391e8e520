//! What a checker is, and what it says of a history and a model.

use crate::checker::budget::Budget;
use crate::checker::evidence::counterexample::Counterexample;
use crate::checker::evidence::witness::Witness;
use crate::history::History;
use crate::model::ConsistencyModel;

/// What a checker says of a history and a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Satisfied(Witness),
    Violated(Counterexample),
    /// Neither could be shown, for this reason.
    Unknown(String),
}

/// Decides consistency models.
pub trait Checker: Sync {
    /// As `--with` takes it.
    fn name(&self) -> &'static str;

    /// The models that it decides.
    fn models(&self) -> &'static [ConsistencyModel];

    /// Whether it judges by timestamps, so that a violation is one of their order only.
    fn judges_timestamps(&self) -> bool {
        false
    }

    /// Whether the history satisfies the model. Where the checker's precondition does not hold it
    /// answers [`Answer::Unknown`] and says which.
    fn check(&self, history: &History, model: ConsistencyModel, budget: Budget) -> Answer;
}
