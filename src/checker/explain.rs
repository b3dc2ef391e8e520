//! From cycles to counterexamples, and from counterexamples to words and pictures.

use std::fmt::Write;
use std::ops::Range;

use super::aion::Breach;
use super::anomaly::Anomaly;
use super::evidence::{Counterexample, Edge, Reason};
use super::resolve::{NONE, Resolved};
use super::versions::Chains;
use crate::history::{Atom, Event, History, Kind, OrderConflict, Status};
use crate::model::printable;

/// What the edges of a cycle may be, beside dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CycleKind {
    Plain,
    RealTime,
}

/// The counterexample of a cycle of transactions, given the version that follows each.
pub(super) fn counterexample(
    resolved: &Resolved<'_>,
    chains: &Chains,
    cycle: &[u32],
    kind: CycleKind,
) -> Counterexample {
    let is_before = |from: u32, to: u32| {
        let spans = || {
            resolved
                .history
                .real_time(from)
                .zip(resolved.history.real_time(to))
        };
        direct_reason(resolved, from, to).is_some()
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

/// The writers of the versions from the initial one on, where an edge rests on that no other could
/// have come between them: each read the version before its own.
fn chain_behind(resolved: &Resolved<'_>, chains: &Chains, edge: &Edge) -> Vec<u32> {
    let (key, versions) = match edge.reason {
        Reason::WriteWrite(key) => (key, resolved.writes(edge.from).collect()),
        Reason::ReadWrite(key) => (key, resolved.reads(edge.from).to_vec()),
        _ => return Vec::new(),
    };
    let is_read = |version: &u32| resolved.reads(edge.to).contains(version);
    let is_listed = resolved
        .history
        .orders()
        .iter()
        .any(|(listed, _)| *listed == key);
    let of_key = |version: &&u32| resolved.key[**version as usize] == key;
    let Some(last) = versions.iter().find(of_key).filter(|v| !is_read(v)) else {
        return Vec::new();
    };
    if is_listed || *last == key {
        return Vec::new();
    }
    let next = |version: &u32| Some(chains.next[*version as usize]).filter(|v| *v != NONE);
    let chain = std::iter::successors(next(&key), next).take(NAMED_MAX);
    let chain = chain.take_while(|version| version != last);
    chain
        .map(|version| resolved.writer[version as usize])
        .collect()
}

/// Longer cycles are not searched for short cuts.
const SHORTENED_MAX: usize = 128;

/// A cycle without what can be left out of it: where one transaction comes before another by
/// itself, nothing between them is needed. No anti-dependency is added, so that what snapshot
/// isolation forbids stays forbidden.
pub(super) fn shortened(cycle: &[u32], is_before: impl Fn(u32, u32) -> bool) -> Vec<u32> {
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
pub(super) fn pairs(cycle: &[u32]) -> impl Iterator<Item = (u32, u32)> + '_ {
    let following = cycle.iter().cycle().skip(1);
    cycle.iter().copied().zip(following.copied())
}

/// Names the anomaly of a cycle.
pub(super) fn named(history: &History, edges: Vec<Edge>) -> Counterexample {
    Counterexample {
        anomaly: name(history, &edges),
        edges,
        core: Vec::new(),
    }
}

/// Why `from` comes before `to`; the strongest reason where there are several.
fn reason(resolved: &Resolved<'_>, chains: &Chains, from: u32, to: u32, kind: CycleKind) -> Reason {
    if let Some(reason) = direct_reason(resolved, from, to) {
        return reason;
    }
    let follows = |version: &u32| chains.is_followed_by(resolved, *version, to);
    if let Some(version) = resolved.writes(from).find(follows) {
        return Reason::WriteWrite(resolved.key[version as usize]);
    }
    if let Some(version) = resolved.reads(from).iter().find(|version| follows(version)) {
        return Reason::ReadWrite(resolved.key[*version as usize]);
    }
    debug_assert_eq!(
        kind,
        CycleKind::RealTime,
        "every edge of a cycle has a reason"
    );
    Reason::RealTime
}

/// WR or SO between two transactions.
pub(super) fn direct_reason(resolved: &Resolved<'_>, from: u32, to: u32) -> Option<Reason> {
    let is_from = |version: &&u32| resolved.writer[**version as usize] == from;
    if let Some(version) = resolved.reads(to).iter().find(is_from) {
        return Some(Reason::WriteRead(resolved.key[*version as usize]));
    }
    let session = |t: u32| resolved.history.session_of(t);
    if from == 0 {
        return Some(Reason::Session);
    }
    (session(from) == session(to) && from < to).then_some(Reason::Session)
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
            _ => Anomaly::ReadSkew,
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
pub(super) fn torn_read(history: &History, reader: u32, seen: u32, stale: u32) -> Anomaly {
    let place = |key: u32| {
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

/// The counterexample in words, one line an edge.
pub fn in_words(history: &History, counterexample: &Counterexample) -> String {
    let adya = counterexample.anomaly.adya();
    let adya = adya.map_or(String::new(), |name| format!(" ({name})"));
    let mut text = format!("{}{adya}\n", counterexample.anomaly);
    for edge in &counterexample.edges {
        let _ = writeln!(text, "  {}", edge_in_words(history, edge));
    }
    if let (Anomaly::LostUpdate, [one, other]) = (counterexample.anomaly, &counterexample.edges[..])
        && one.reason == other.reason
    {
        text.push_str(
            "  both wrote what both had read: the later did not see the write of the earlier\n",
        );
    }
    if !counterexample.core.is_empty() && !counterexample.edges.is_empty() {
        let _ = writeln!(
            text,
            "  by way of {}: each reads from the one before, or follows it in its session",
            names(history, &counterexample.core)
        );
    }
    if counterexample.edges.is_empty() {
        let allowed = match counterexample.anomaly {
            Anomaly::StaleRead => " that real time allows",
            _ => "",
        };
        let _ = writeln!(
            text,
            "  no order of the writes of these{allowed} explains all reads: {}",
            names(history, &counterexample.core)
        );
    }
    let all = involved(counterexample);
    for transaction in all.iter().take(NAMED_MAX) {
        let told = transaction_in_words(history, counterexample, *transaction);
        let _ = writeln!(text, "  {told}");
    }
    text
}

/// So many transactions are named, where no small part shows the violation.
const NAMED_MAX: usize = 40;

fn names(history: &History, transactions: &[u32]) -> String {
    let mut names: Vec<String> = transactions.iter().map(|t| history.name(*t)).collect();
    let more = names.len().saturating_sub(NAMED_MAX);
    names.truncate(NAMED_MAX);
    match more {
        0 => names.join(", "),
        _ => format!("{}, and {more} more", names.join(", ")),
    }
}

/// The transactions that a counterexample names, but for the initial one.
pub(super) fn involved(counterexample: &Counterexample) -> Vec<u32> {
    let ends = counterexample.edges.iter().flat_map(|edge| {
        let reader = match edge.reason {
            Reason::SeenBy { reader, .. } => reader,
            _ => edge.from,
        };
        [edge.from, edge.to, reader]
    });
    let mut all: Vec<u32> = ends.chain(counterexample.core.iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    all.retain(|transaction| *transaction > 0);
    all
}

fn transaction_in_words(
    history: &History,
    counterexample: &Counterexample,
    transaction: u32,
) -> String {
    let events = history
        .events(transaction)
        .map(|event| event_in_words(history, event));
    let events: Vec<String> = events.collect();
    let span = span_in_words(history, counterexample, transaction);
    format!(
        "{}{}: {}",
        origin_in_words(history, transaction),
        span.map_or(String::new(), |span| format!(" {span}")),
        events.join(" ")
    )
}

/// A transaction and its session.
pub(super) fn origin_in_words(history: &History, transaction: u32) -> String {
    let session = history.spelled(history.session(history.session_of(transaction)));
    let status = match history.status(transaction) {
        Status::Committed => "",
        Status::Aborted => ", aborted",
        Status::Indeterminate => ", indeterminate",
    };
    format!("{} of session {session}{status}", history.name(transaction))
}

/// The timestamps of a transaction as our format spells them, where they are the evidence.
pub(super) fn span_in_words(
    history: &History,
    counterexample: &Counterexample,
    transaction: u32,
) -> Option<String> {
    let by_timestamps = |edge: &Edge| {
        matches!(
            edge.reason,
            Reason::Early | Reason::Missed(_) | Reason::Overlap(_)
        )
    };
    let is_evidence = counterexample.edges.iter().any(by_timestamps);
    if let Some(span) = history.timestamps(transaction).filter(|_| is_evidence) {
        return Some(format!("@{}..{}", span.from, span.to));
    }
    let is_timed = |edge: &Edge| edge.reason == Reason::RealTime;
    let is_timed =
        counterexample.anomaly == Anomaly::StaleRead || counterexample.edges.iter().any(is_timed);
    let span = history.real_time(transaction).filter(|_| is_timed)?;
    Some(match span.to {
        i64::MAX => format!("~{}..", span.from),
        _ => format!("~{}..{}", span.from, span.to),
    })
}

pub(super) fn event_in_words(history: &History, event: Event) -> String {
    let letter = match event.kind {
        Kind::Read => 'r',
        Kind::Write => 'w',
    };
    let key = history.spelled(history.key(event.key));
    let value = match event.kind {
        Kind::Read if history.has_lists() => list_in_words(history, &list_of(history, event), 0),
        _ => history.spelled(event.value),
    };
    format!("{letter}({key},{value})")
}

/// The list that an event read, as far as the history still has it: of a list that is no beginning
/// of the longest, the last element.
fn list_of(history: &History, read: Event) -> Vec<Atom> {
    if read.value == Atom::NIL {
        return Vec::new();
    }
    let orders = history.orders().iter().filter(|order| order.0 == read.key);
    let conflicts = history.order_conflicts().iter();
    let conflicts = conflicts.filter(|conflict| conflict.key == read.key);
    let exact = conflicts.flat_map(|conflict| conflict.lists.iter().flatten());
    let exact = exact.filter(|list| list.last() == Some(&read.value));
    let mut lists = exact.chain(orders.map(|(_, values)| values));
    let list = lists.find_map(|list| {
        let place = list.iter().position(|value| *value == read.value)?;
        Some(list[..=place].to_vec())
    });
    list.unwrap_or_else(|| vec![read.value])
}

/// So many elements of a list are shown.
const ELEMENTS_MAX: usize = 12;

/// A list as our own line format has it; of a long one the part from just before `place`, or where
/// nothing is to be seen at a place, the end.
fn list_in_words(history: &History, list: &[Atom], place: usize) -> String {
    let last = list.len().saturating_sub(ELEMENTS_MAX);
    let begin = if place == 0 {
        last
    } else {
        last.min(place.saturating_sub(2))
    };
    let end = list.len().min(begin + ELEMENTS_MAX);
    let shown = list[begin..end].iter().map(|value| history.spelled(*value));
    let cut = |is_cut: bool| is_cut.then(|| "..".to_owned());
    let words = cut(begin > 0).into_iter().chain(shown);
    let words: Vec<String> = words.chain(cut(end < list.len())).collect();
    format!("[{}]", words.join(" "))
}

/// How two reads contradict each other on the order of a key.
fn conflict_in_words(history: &History, conflict: &OrderConflict) -> String {
    let (first, second) = (history.name(conflict.first), history.name(conflict.second));
    let key = history.spelled(history.key(conflict.key));
    let Some([one, other]) = &conflict.lists else {
        return format!("{first} and {second} read orders of {key} that exclude each other");
    };
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let shown = |list: &[Atom]| list_in_words(history, list, same);
    if same == one.len().min(other.len()) {
        let list = list_in_words(history, other, 0);
        return format!("{second} reads {list} for {key}, with an element twice");
    }
    format!(
        "{first} reads {} for {key}, {second} reads {}: neither begins with the other",
        shown(one),
        shown(other)
    )
}

/// A value that a list or an order of versions has, and that no transaction left there.
fn listed_in_words(history: &History, edge: &Edge, key: u32, value: Atom) -> String {
    let (from, to) = (history.name(edge.from), history.name(edge.to));
    let (key, value) = (history.spelled(history.key(key)), history.spelled(value));
    let whence = match edge.from == edge.to {
        true => "nobody wrote".to_owned(),
        false => format!("{from} wrote and aborted"),
    };
    match edge.to {
        0 => format!("the order of {key} names {value}, which {whence}"),
        _ => format!("{to} reads {key} behind {value}, which {whence}"),
    }
}

/// What a read should have shown by the timestamps, in the words of `watch`.
fn missed_in_words(history: &History, edge: &Edge, at: usize) -> String {
    let read = history.event(at);
    let left = last_write(history, history.event_range(edge.from), read.key);
    let breach = Breach::External {
        transaction: history.label(edge.to),
        key: history.key(read.key),
        read: read.value,
        held: left.unwrap_or(history.initial(read.key)),
        writer: (edge.from > 0).then(|| history.label(edge.from)),
    };
    breach.in_words(history.texts())
}

/// A read that is an anomaly by itself.
fn read_in_words(history: &History, edge: &Edge, at: usize) -> String {
    let read = history.event(at);
    let (key, value) = (
        history.spelled(history.key(read.key)),
        history.spelled(read.value),
    );
    let (from, to) = (history.name(edge.from), history.name(edge.to));
    if edge.from != edge.to {
        return format!("{to} reads {value} for {key}, written by {from}");
    }
    let before = history.event_range(edge.to).start..at;
    let Some(wrote) = last_write(history, before, read.key) else {
        return format!("{to} reads {value} for {key}");
    };
    let breach = Breach::Internal {
        transaction: history.label(edge.to),
        key: history.key(read.key),
        read: read.value,
        wrote,
    };
    breach.in_words(history.texts())
}

/// The value of the last of these events that writes the key.
fn last_write(history: &History, mut range: Range<usize>, key: u32) -> Option<Atom> {
    let is_it = |event: &Event| event.kind == Kind::Write && event.key == key;
    let last = range.rfind(|at| is_it(&history.event(*at)));
    last.map(|at| history.event(at).value)
}

pub(super) fn edge_in_words(history: &History, edge: &Edge) -> String {
    let (from, to) = (history.name(edge.from), history.name(edge.to));
    let key = |key: u32| history.spelled(history.key(key));
    match edge.reason {
        Reason::Session if edge.from == 0 => format!("{from} -SO-> {to}: {from} is the beginning"),
        Reason::Session => format!("{from} -SO-> {to}: {from} comes before {to} in their session"),
        Reason::RealTime => format!("{from} -RT-> {to}: {from} ended before {to} began"),
        Reason::WriteRead(k) => {
            let key = key(k);
            format!("{from} -WR({key})-> {to}: {to} reads the version of {key} that {from} wrote")
        }
        Reason::WriteWrite(k) => {
            let key = key(k);
            format!("{from} -WW({key})-> {to}: {to} writes {key} after {from}")
        }
        Reason::ReadWrite(k) => {
            let key = key(k);
            format!(
                "{from} -RW({key})-> {to}: {from} reads a version of {key} that {to} overwrites"
            )
        }
        Reason::SeenBy { key: k, reader } => {
            let (key, reader) = (key(k), history.name(reader));
            format!(
                "{from} -CO-> {to}: {reader} must see {from}, and reads the version of {key} that {to} wrote"
            )
        }
        Reason::Listed { key, value } => listed_in_words(history, edge, key, value),
        Reason::Lists(k) => {
            let is_it = |conflict: &&OrderConflict| {
                (conflict.key, conflict.first, conflict.second) == (k, edge.from, edge.to)
            };
            match history.order_conflicts().iter().find(is_it) {
                Some(conflict) => conflict_in_words(history, conflict),
                None => format!(
                    "the order of {} does not have all that {from} wrote in a row",
                    key(k)
                ),
            }
        }
        Reason::Early => {
            let (transaction, before) = (history.label(edge.to), history.label(edge.from));
            let breach = Breach::Session {
                transaction,
                before,
            };
            breach.in_words(history.texts())
        }
        Reason::Overlap(k) => {
            let breach = Breach::Conflict {
                transaction: history.label(edge.to),
                other: history.label(edge.from),
                key: history.key(k),
            };
            breach.in_words(history.texts())
        }
        Reason::Missed(at) => missed_in_words(history, edge, at),
        Reason::Event(at) => read_in_words(history, edge, at),
    }
}

/// The reason of an edge as pictures have it: `WR(x)`.
pub(super) fn label(history: &History, reason: Reason) -> String {
    let key = |key: u32| history.spelled(history.key(key));
    match reason {
        Reason::Session => "SO".to_owned(),
        Reason::RealTime => "RT".to_owned(),
        Reason::WriteRead(k) => format!("WR({})", key(k)),
        Reason::WriteWrite(k) => format!("WW({})", key(k)),
        Reason::ReadWrite(k) => format!("RW({})", key(k)),
        Reason::SeenBy { key: k, .. } => format!("CO({})", key(k)),
        Reason::Event(_) | Reason::Missed(_) | Reason::Listed { .. } => "reads".to_owned(),
        Reason::Lists(k) => format!("order({})", key(k)),
        Reason::Early => "session".to_owned(),
        Reason::Overlap(k) => format!("overlap({})", key(k)),
    }
}

/// The counterexample as a graph for Graphviz.
pub fn dot(history: &History, counterexample: &Counterexample) -> String {
    let quoted = |text: String| {
        let text = printable(&text);
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    };
    let mut text = String::from("digraph counterexample {\n  node [shape=box];\n");
    let _ = writeln!(
        text,
        "  label={};",
        quoted(counterexample.anomaly.to_string())
    );
    for transaction in involved(counterexample) {
        let name = quoted(history.name(transaction));
        let words = transaction_in_words(history, counterexample, transaction);
        let label = quoted(words);
        let _ = writeln!(text, "  {name} [label={label}];");
    }
    for edge in &counterexample.edges {
        let (from, to) = (
            quoted(history.name(edge.from)),
            quoted(history.name(edge.to)),
        );
        let label = quoted(label(history, edge.reason));
        let _ = writeln!(text, "  {from} -> {to} [label={label}];");
    }
    text.push_str("}\n");
    text
}
