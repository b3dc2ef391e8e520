//! Checkers: which consistency models does a history satisfy?
//!
//! A checker answers *satisfied* with a witness that [`replay`] accepts without knowing how it was
//! found, *violated* with a counterexample, or *unknown* with what is missing. It never
//! takes the one for the other. Models and their relations are those of `docs/checkers.md`.
//!
//! `resolved` finds which write each read saw and which version follows which. `algorithm` holds
//! the checkers, `evidence` what an answer rests on, `explain` its words and pictures.

mod algorithm;
mod answer;
mod budget;
mod evidence;
mod explain;
mod resolved;
#[cfg(test)]
mod tests;

pub use crate::model::Anomaly;
pub use algorithm::aion;
pub use answer::{Answer, Checker};
pub use budget::Budget;
pub use evidence::counterexample::{Counterexample, Edge, Reason};
pub use evidence::stale_read::has_stale_read;
pub use evidence::witness::Witness;
pub use evidence::{rederive, replay};
pub use explain::dot::dot;
pub use explain::elle::elle;
pub use explain::svg::svg;
pub use explain::words::in_words;

use algorithm::{brute_force, chronos, mtc, polysi, search, weak};

use crate::history::History;
use crate::model::ConsistencyModel;

/// Every checker, in the order in which `auto` asks them.
pub const CHECKERS: &[&dyn Checker] = &[
    &mtc::Mtc,
    &weak::Weak,
    &polysi::PolySi,
    &search::SerialSearch,
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
            answer @ (Answer::Satisfied(_) | Answer::Violated(_)) => {
                return (checker.name(), answer);
            }
        }
    }
    ("auto", Answer::Unknown(reasons.join("; ")))
}
