//! From cycles to counterexamples: why each edge holds, and what the whole is called.

use crate::checker::evidence::counterexample::{Counterexample, Edge, Reason};
use crate::checker::resolved::resolve::Resolved;
use crate::checker::resolved::version::{NONE, Version};
use crate::checker::resolved::versions::ChainedVersions;
use crate::history::{Event, History, Key, Kind, Txn};
use crate::model::Anomaly;

/// What the edges of a cycle may be, beside dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::checker) enum CycleKind {
    Plain,
    RealTime,
}

/// The counterexample of a cycle of transactions, given the version that follows each.
pub(in crate::checker) fn counterexample(
    resolved: &Resolved<'_>,
    chains: &ChainedVersions,
    cycle: &[Txn],
    kind: CycleKind,
) -> Counterexample {
    let is_before = |from: Txn, to: Txn| {
        let spans = || {
            resolved
                .history
                .real_time(from)
                .zip(resolved.history.real_time(to))
        };
        direct_reason(resolved, from, to).is_some()
            || written_next(resolved, chains, from, to).is_some()
            || (kind == CycleKind::RealTime && spans().is_some_and(|(one, two)| one.to < two.from))
    };
    let cycle = shortened(cycle, is_before);
    let edges = pairs(&cycle)
        .map(|(from, to)| Edge {
            from,
            to,
            reason: reason(resolved, chains, from, to, kind),
        })
        .collect();
    let mut found = named(resolved.history, edges);
    let behind = found.edges.iter();
    let behind = behind.flat_map(|edge| chain_behind(resolved, chains, edge));
    found.core = behind.filter(|t| !cycle.contains(t)).collect();
    found.core.dedup();
    found
}

/// So many writers of a chain are named.
const CHAIN_MAX: usize = 40;

/// The writers of the versions from the initial one on, where an edge rests on that no other could
/// have come between them: each read the version before its own.
fn chain_behind(resolved: &Resolved<'_>, chains: &ChainedVersions, edge: &Edge) -> Vec<Txn> {
    let (key, versions) = match edge.reason {
        Reason::WriteWrite(key) => (key, resolved.writes(edge.from).collect()),
        Reason::ReadWrite(key) => (key, resolved.reads(edge.from).to_vec()),
        Reason::Session
        | Reason::RealTime
        | Reason::WriteRead(_)
        | Reason::SeenBy { .. }
        | Reason::Event(_)
        | Reason::Listed { .. }
        | Reason::Lists(_)
        | Reason::Early
        | Reason::Missed(_)
        | Reason::Overlap(_) => return Vec::new(),
    };
    let is_read = |version: &Version| resolved.reads(edge.to).contains(version);
    let is_listed = resolved
        .history
        .orders()
        .iter()
        .any(|(listed, _)| *listed == key);
    let of_key = |version: &&Version| resolved.key[**version] == key;
    let Some(last) = versions.iter().find(of_key).filter(|v| !is_read(v)) else {
        return Vec::new();
    };
    if is_listed || *last == Version::initial(key) {
        return Vec::new();
    }
    let next = |version: &Version| Some(chains.next[*version]).filter(|v| *v != NONE);
    let before = std::iter::successors(next(&Version::initial(key)), next).take(CHAIN_MAX);
    let before = before.take_while(|version| version != last);
    before
        .chain([*last])
        .map(|version| resolved.writer[version])
        .collect()
}

/// Longer cycles are not searched for short cuts.
const SHORTENED_MAX: usize = 128;

/// A cycle without what can be left out of it: where one transaction comes before another by
/// itself, nothing between them is needed. No anti-dependency is added, so that what snapshot
/// isolation forbids stays forbidden.
pub(in crate::checker) fn shortened(
    cycle: &[Txn],
    is_before: impl Fn(Txn, Txn) -> bool,
) -> Vec<Txn> {
    let mut cycle = cycle.to_vec();
    while (3..=SHORTENED_MAX).contains(&cycle.len()) {
        let len = cycle.len();
        // The widest step first: what is left of the cycle is shortest.
        let steps = (2..len)
            .rev()
            .flat_map(|step| (0..len).map(move |at| (at, step)));
        let mut cuts = steps.filter(|(at, step)| is_before(cycle[*at], cycle[(at + step) % len]));
        let Some((at, step)) = cuts.next() else { break };
        cycle.rotate_left(at);
        cycle.drain(1..step);
    }
    cycle
}

/// The neighbours of a cycle.
pub(in crate::checker) fn pairs(cycle: &[Txn]) -> impl Iterator<Item = (Txn, Txn)> + '_ {
    let following = cycle.iter().cycle().skip(1);
    cycle.iter().copied().zip(following.copied())
}

/// Names the anomaly of a cycle.
pub(in crate::checker) fn named(history: &History, edges: Vec<Edge>) -> Counterexample {
    Counterexample {
        anomaly: name(history, &edges),
        edges,
        core: Vec::new(),
    }
}

/// Why `from` comes before `to`; the strongest reason where there are several.
fn reason(
    resolved: &Resolved<'_>,
    chains: &ChainedVersions,
    from: Txn,
    to: Txn,
    kind: CycleKind,
) -> Reason {
    if let Some(reason) = direct_reason(resolved, from, to) {
        return reason;
    }
    if let Some(key) = written_next(resolved, chains, from, to) {
        return Reason::WriteWrite(key);
    }
    let follows = |version: &&Version| chains.is_followed_by(resolved, **version, to);
    if let Some(version) = resolved.reads(from).iter().find(follows) {
        return Reason::ReadWrite(resolved.key[*version]);
    }
    debug_assert_eq!(
        kind,
        CycleKind::RealTime,
        "every edge of a cycle has a reason"
    );
    Reason::RealTime
}

/// WR or SO between two transactions.
pub(in crate::checker) fn direct_reason(
    resolved: &Resolved<'_>,
    from: Txn,
    to: Txn,
) -> Option<Reason> {
    let is_from = |version: &&Version| resolved.writer[**version] == from;
    if let Some(version) = resolved.reads(to).iter().find(is_from) {
        return Some(Reason::WriteRead(resolved.key[*version]));
    }
    let session = |t: Txn| resolved.history.session_of(t);
    if from.is_initial() {
        return Some(Reason::Session);
    }
    (session(from) == session(to) && from < to).then_some(Reason::Session)
}

/// WW between two transactions: a key of which the one wrote a version and the other the next.
fn written_next(
    resolved: &Resolved<'_>,
    chains: &ChainedVersions,
    from: Txn,
    to: Txn,
) -> Option<Key> {
    let follows = |version: &Version| chains.is_followed_by(resolved, *version, to);
    let version = resolved.writes(from).find(follows)?;
    Some(resolved.key[version])
}

/// The anomaly that a cycle is (MTC, Table I; Adya's for what has no name there).
fn name(history: &History, edges: &[Edge]) -> Anomaly {
    let is_anti = |edge: &Edge| matches!(edge.reason, Reason::ReadWrite(_));
    if edges.iter().any(|edge| edge.reason == Reason::RealTime) {
        return Anomaly::StaleRead;
    }
    let antis: Vec<usize> = (0..edges.len()).filter(|at| is_anti(&edges[*at])).collect();
    let is_adjacent = |at: &usize| is_anti(&edges[(at + 1) % edges.len()]);
    match antis[..] {
        [] => without_anti_dependency(edges),
        [at] => one_anti_dependency(history, edges, at),
        _ if antis.iter().any(is_adjacent) => match edges {
            [one, other] if one.reason == other.reason => Anomaly::LostUpdate,
            _ => Anomaly::WriteSkew,
        },
        _ => Anomaly::LongFork,
    }
}

fn without_anti_dependency(edges: &[Edge]) -> Anomaly {
    let is_write = |edge: &Edge| matches!(edge.reason, Reason::WriteWrite(_));
    if edges.iter().all(is_write) {
        Anomaly::DirtyWrite
    } else {
        Anomaly::CircularInformationFlow
    }
}

fn one_anti_dependency(history: &History, edges: &[Edge], at: usize) -> Anomaly {
    let anti = edges[at];
    let Reason::ReadWrite(stale) = anti.reason else {
        return Anomaly::ReadSkew;
    };
    let others = || {
        (0..edges.len())
            .filter(|other| *other != at)
            .map(|o| edges[o].reason)
    };
    if others().all(|reason| reason == Reason::Session) {
        return Anomaly::SessionGuaranteeViolation;
    }
    if let [reason] = others().collect::<Vec<_>>()[..] {
        return match reason {
            Reason::WriteRead(seen) => torn_read(history, anti.from, seen, stale),
            Reason::WriteWrite(key) if key == stale => Anomaly::LostUpdate,
            Reason::Session
            | Reason::RealTime
            | Reason::WriteWrite(_)
            | Reason::ReadWrite(_)
            | Reason::SeenBy { .. }
            | Reason::Event(_)
            | Reason::Listed { .. }
            | Reason::Lists(_)
            | Reason::Early
            | Reason::Missed(_)
            | Reason::Overlap(_) => Anomaly::ReadSkew,
        };
    }
    if others().all(|reason| reason == Reason::WriteWrite(stale)) {
        return Anomaly::LostUpdate;
    }
    let is_causal = |reason| matches!(reason, Reason::Session | Reason::WriteRead(_));
    if others().all(is_causal) {
        Anomaly::CausalityViolation
    } else {
        Anomaly::ReadSkew
    }
}

/// A reader that sees one key of a transaction and misses another. Table I of MTC has the two apart
/// by what was missed for: the version of a third transaction, read later, or the initial one.
pub(in crate::checker) fn torn_read(
    history: &History,
    reader: Txn,
    seen: Key,
    stale: Key,
) -> Anomaly {
    let place = |key: Key| {
        let is_read = |event: Event| event.kind == Kind::Read && event.key == key;
        history.events(reader).position(is_read)
    };
    let is_initial = |event: Event| {
        event.kind == Kind::Read && event.key == stale && event.value == history.initial(stale)
    };
    let is_back = place(seen) < place(stale) && !history.events(reader).any(is_initial);
    // Two versions of one key: the second is the older.
    if is_back || seen == stale {
        Anomaly::NonMonotonicRead
    } else {
        Anomaly::FracturedRead
    }
}
