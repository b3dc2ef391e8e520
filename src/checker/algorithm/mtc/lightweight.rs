//! Linearizability of lightweight transactions in linear time (MTC, algorithm 2).
//!
//! Every transaction reads one key and writes it, with unique values: the reads and writes of a key
//! form one chain, and real time must not run against it.

use crate::checker::answer::Answer;
use crate::checker::evidence::counterexample::{Counterexample, Edge, Reason};
use crate::checker::evidence::witness::Witness;
use crate::checker::resolved::resolve::{Resolved, Unresolved, resolve};
use crate::checker::resolved::version::{NONE, Version};
use crate::checker::resolved::versions::chains;
use crate::history::{History, Txn};
use crate::model::Anomaly;

pub(super) fn check(history: &History) -> Answer {
    let resolved = match resolve(history) {
        Ok(resolved) => resolved,
        Err(Unresolved::Violated(counterexample)) => return Answer::Violated(counterexample),
        Err(Unresolved::Ambiguous { key, value }) => {
            return Answer::Unknown(Unresolved::reason(history, key, value));
        }
    };
    let before = resolved.session_predecessors();
    for transaction in resolved.live() {
        let writes: Vec<Version> = resolved.writes(transaction).collect();
        let is_lightweight = match (resolved.reads(transaction), &writes[..]) {
            ([read], [write]) => resolved.key[*read] == resolved.key[*write],
            _ => false,
        };
        if !is_lightweight {
            let name = history.name(transaction);
            return Answer::Unknown(format!("{name} is no read and write of one key"));
        }
        if history.real_time(transaction).is_none() {
            return Answer::Unknown(format!("{} has no real time", history.name(transaction)));
        }
        // Real time orders a session, unless its clock was too coarse to tell an end from the
        // beginning that followed.
        let ended = history.real_time(before[transaction]);
        let began = history.real_time(transaction);
        if began
            .zip(ended)
            .is_some_and(|(began, ended)| ended.to >= began.from)
        {
            let name = history.name(transaction);
            return Answer::Unknown(format!("{name} began when its session was not done"));
        }
    }
    if !history.orders().is_empty() {
        // Chains of lists come from the lists: the reads of a transaction would not be checked.
        return Answer::Unknown("lists are no lightweight transactions".to_owned());
    }
    match chains(&resolved) {
        Ok(chains) => along_chains(&resolved, &chains.next),
        Err(counterexample) => Answer::Violated(counterexample),
    }
}

/// Goes through every chain from its end: nothing may begin after a later one has ended.
///
/// Linearizability is local to keys; the witness merges the chains by the points that the
/// backward pass leaves to each transaction.
fn along_chains(resolved: &Resolved<'_>, next: &[Version]) -> Answer {
    let history = resolved.history;
    let span = |t: Txn| {
        history
            .real_time(t)
            .map_or((i64::MIN, i64::MAX), |s| (s.from, s.to))
    };
    let mut reached = 0;
    let mut points: Vec<(i64, u32, Txn)> = Vec::new();
    for key in history.all_keys() {
        let mut version = next[Version::initial(key)];
        // The earliest point that the beginnings so far allow.
        let (mut latest, mut latest_of) = (i64::MIN, Txn::INITIAL);
        let mut place = 0;
        while version != NONE {
            let transaction = resolved.writer[version];
            let (from, to) = span(transaction);
            if to < latest {
                return Answer::Violated(Counterexample {
                    anomaly: Anomaly::StaleRead,
                    edges: vec![
                        Edge {
                            from: latest_of,
                            to: transaction,
                            reason: Reason::WriteWrite(key),
                        },
                        Edge {
                            from: transaction,
                            to: latest_of,
                            reason: Reason::RealTime,
                        },
                    ],
                    core: Vec::new(),
                });
            }
            if from > latest {
                (latest, latest_of) = (from, transaction);
            }
            points.push((latest, place, transaction));
            reached += 1;
            place += 1;
            version = next[version];
        }
    }
    if reached < resolved.live().count() {
        return Answer::Unknown("a chain does not begin at the initial version".to_owned());
    }
    points.sort_unstable();
    let order = points.into_iter().map(|(_, _, transaction)| transaction);
    Answer::Satisfied(Witness::Order(order.collect()))
}
