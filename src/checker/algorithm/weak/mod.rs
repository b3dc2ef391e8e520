//! Read committed, read atomic and causal consistency in near-linear time.
//!
//! The axioms are Biswas and Enea's (OOPSLA 2019): where a transaction `reader` reads a key from
//! `t1` and must see `t2`, which writes the key too, `t2` comes before `t1` in the commit order.
//! What must be seen differs by model: what was read earlier in the transaction (RC), what was read
//! in it or came before in its session (RA), everything that leads to it (CC). All forced pairs
//! with SO and WR form a graph; the history satisfies the model if and only if it is acyclic, and
//! any topological order is a commit order. After AWDIT (PLDI 2025) and Plume (OOPSLA 2024).

mod causal;
mod decide;
mod open;

use self::decide::decide;
use crate::checker::answer::{Answer, Checker};
use crate::checker::budget::Budget;
use crate::checker::resolved::resolve::{Unresolved, resolve_openly};
use crate::history::History;
use crate::model::ConsistencyModel;

/// The checker of the weak models.
pub(in crate::checker) struct Weak;

impl Checker for Weak {
    fn name(&self) -> &'static str {
        "weak"
    }

    fn models(&self) -> &'static [ConsistencyModel] {
        &[
            ConsistencyModel::ReadCommitted,
            ConsistencyModel::ReadAtomic,
            ConsistencyModel::Causal,
        ]
    }

    fn check(&self, history: &History, model: ConsistencyModel, budget: Budget) -> Answer {
        let resolved = match resolve_openly(history) {
            Ok(resolved) => resolved,
            Err(Unresolved::Violated(counterexample)) => return Answer::Violated(counterexample),
            Err(Unresolved::Ambiguous { key, value }) => {
                return Answer::Unknown(Unresolved::reason(history, key, value));
            }
        };
        if model > ConsistencyModel::ReadCommitted
            && let Some(counterexample) = &resolved.non_repeatable
        {
            return Answer::Violated(counterexample.clone());
        }
        match resolved.open_reads[..] {
            [] => decide(&resolved, model),
            _ => {
                let violates =
                    |part: &History| matches!(self.check(part, model, budget), Answer::Violated(_));
                open::check(&resolved, model, budget, violates)
            }
        }
    }
}
