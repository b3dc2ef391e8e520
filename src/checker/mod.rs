//! Checkers: which consistency models does a history satisfy?
//!
//! A checker answers *satisfied* with a witness that [`replay`] accepts without knowing how it was
//! found, *violated* with a counterexample, or *unknown* with what is missing. It never takes the
//! one for the other. Models and their relations are those of `docs/checkers.md`.

pub mod aion;
mod anomaly;
mod arcs;
pub mod brute_force;
mod chronos;
mod cycle;
mod evidence;
mod explain;
mod links;
mod mtc;
mod polysi;
pub mod rederive;
mod reduce;
pub mod replay;
mod resolve;
mod search;
mod svg;
#[cfg(test)]
mod tests;
mod value_index;
mod versions;
mod weak;

use std::time::{Duration, Instant};

pub use anomaly::Anomaly;
pub use evidence::{Counterexample, Edge, Reason, Witness};
pub use explain::{dot, in_words};
pub use svg::svg;

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

/// What a check may cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Asked once in a while: whether to give up for another reason, memory for one.
    pub stop: Option<fn() -> bool>,
}

impl Budget {
    /// In the reasons of what is unknown because of it.
    pub const IS_OVER: &str = "the budget is over";

    /// Gives up after this long, counted from now.
    pub fn of(limit: Option<Duration>) -> Self {
        Self {
            deadline: limit.and_then(|limit| Instant::now().checked_add(limit)),
            stop: None,
        }
    }

    pub(crate) fn is_over(self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
            || self.stop.is_some_and(|stop| stop())
    }
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

/// Every checker, in the order in which `auto` asks them.
pub const CHECKERS: &[&dyn Checker] = &[
    &mtc::Mtc,
    &weak::Weak,
    &polysi::PolySi,
    &search::Search,
    &brute_force::BruteForce,
    &chronos::Chronos,
];

/// The checker of this name.
pub fn by_name(name: &str) -> Option<&'static dyn Checker> {
    CHECKERS
        .iter()
        .copied()
        .find(|checker| checker.name() == name)
}

/// Asks the checkers of a model one after the other until one knows; its name and answer.
pub fn check(history: &History, model: ConsistencyModel, budget: Budget) -> (&'static str, Answer) {
    let mut reasons: Vec<String> = Vec::new();
    let may =
        |checker: &&&dyn Checker| checker.models().contains(&model) && !checker.judges_timestamps();
    for checker in CHECKERS.iter().filter(may) {
        match checker.check(history, model, budget) {
            Answer::Unknown(reason) => reasons.push(format!("{}: {reason}", checker.name())),
            answer => return (checker.name(), answer),
        }
    }
    ("auto", Answer::Unknown(reasons.join("; ")))
}
