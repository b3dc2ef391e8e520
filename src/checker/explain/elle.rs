//! What Elle calls a counterexample.

use crate::checker::evidence::counterexample::{Counterexample, Reason};
use crate::history::{Atom, History};
use crate::model::Anomaly;

/// Elle's name of the anomaly, where Elle has the same notion (`elle.consistency-model`,
/// `elle.list-append`, `elle.rw-register`); none where what was found is an argument that Elle does not
/// make.
pub fn elle(history: &History, counterexample: &Counterexample) -> Option<String> {
    let name = match counterexample.anomaly {
        Anomaly::AbortedRead => "G1a",
        Anomaly::IntermediateRead => "G1b",
        Anomaly::FutureRead | Anomaly::NotMyLastWrite | Anomaly::NotMyOwnWrite => "internal",
        Anomaly::NonRepeatableRead if !is_cycle(counterexample) => "internal",
        Anomaly::IncompatibleOrder if repeats_an_element(history, counterexample) => {
            "duplicate-elements"
        }
        Anomaly::IncompatibleOrder => "incompatible-order",
        Anomaly::LostUpdate => "lost-update",
        Anomaly::NonRepeatableRead
        | Anomaly::SessionGuaranteeViolation
        | Anomaly::NonMonotonicRead
        | Anomaly::FracturedRead
        | Anomaly::CausalityViolation
        | Anomaly::LongFork
        | Anomaly::WriteSkew
        | Anomaly::DirtyWrite
        | Anomaly::CircularInformationFlow
        | Anomaly::ReadSkew
        | Anomaly::StaleRead => return cycle(counterexample),
        Anomaly::ThinAirRead
        | Anomaly::DirtyRead
        | Anomaly::NoVersionOrder
        | Anomaly::NoSerialOrder
        | Anomaly::TimestampExternal
        | Anomaly::TimestampConflict
        | Anomaly::TimestampSession => return None,
    };
    Some(name.to_owned())
}

/// The name of a cycle of Adya's edges, with the suffix for orders beside them: by the edges that are no
/// dependencies of data.
fn cycle(counterexample: &Counterexample) -> Option<String> {
    let (mut reads, mut anti, mut process, mut real_time) = (false, Vec::new(), false, false);
    for edge in &counterexample.edges {
        anti.push(matches!(edge.reason, Reason::ReadWrite(_)));
        match edge.reason {
            Reason::WriteWrite(_) | Reason::ReadWrite(_) => {}
            Reason::WriteRead(_) => reads = true,
            Reason::Session => process = true,
            Reason::RealTime => real_time = true,
            Reason::SeenBy { .. }
            | Reason::Event(_)
            | Reason::Listed { .. }
            | Reason::Lists(_)
            | Reason::Early
            | Reason::Missed(_)
            | Reason::Overlap(_) => return None,
        }
    }
    if !is_cycle(counterexample) {
        return None;
    }
    let after = anti.iter().cycle().skip(1);
    let adjacent = anti.iter().zip(after).any(|(one, next)| *one && *next);
    let name = match anti.iter().filter(|is_anti| **is_anti).count() {
        0 if reads => "G1c",
        0 => "G0",
        1 => "G-single-item",
        _ if adjacent => "G2-item",
        _ => "G-nonadjacent-item",
    };
    let suffix = match (real_time, process) {
        (true, _) => "-realtime",
        (false, true) => "-process",
        (false, false) => "",
    };
    Some(format!("{name}{suffix}"))
}

/// Whether each edge begins where the one before ends, and the first where the last does.
fn is_cycle(counterexample: &Counterexample) -> bool {
    let edges = &counterexample.edges;
    let next = edges.iter().cycle().skip(1);
    edges.len() > 1
        && edges
            .iter()
            .zip(next)
            .all(|(one, next)| one.to == next.from)
        && edges.iter().all(|edge| !edge.from.is_initial())
}

/// Whether a list has an element more often than it was appended.
fn repeats_an_element(history: &History, counterexample: &Counterexample) -> bool {
    let conflicts = history.order_conflicts().iter();
    let mut told = conflicts.filter(|conflict| {
        let edges = counterexample.edges.iter();
        let mut of_it = edges.filter(|edge| edge.reason == Reason::Lists(conflict.key));
        of_it.any(|edge| (edge.from, edge.to) == (conflict.first, conflict.second))
    });
    told.any(|conflict| {
        let is_beginning = |[one, other]: &[Vec<Atom>; 2]| {
            let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
            same == one.len().min(other.len())
        };
        conflict.lists.as_ref().is_some_and(is_beginning)
    })
}
