//! Counterexamples in words.

use std::fmt::Write;
use std::ops::Range;

use crate::checker::algorithm::aion::breach::Breach;
use crate::checker::evidence::counterexample::{Counterexample, Edge, Reason};
use crate::checker::explain::elle::elle;
use crate::checker::explain::lost_update::{self, as_told};
use crate::checker::explain::orders;
use crate::history::{Atom, Event, History, Key, Kind, OrderConflict, Status, Txn};
use crate::model::Anomaly;

/// The counterexample in words, one line an edge.
pub fn in_words(history: &History, counterexample: &Counterexample) -> String {
    let mut text = format!("{}\n", title(history, counterexample));
    for sentence in sentences(history, counterexample) {
        let _ = writeln!(text, "  {sentence}");
    }
    let all = counterexample.transactions();
    for transaction in all.iter().take(NAMED_MAX) {
        let told = transaction_in_words(history, counterexample, *transaction);
        let _ = writeln!(text, "  {told}");
    }
    text
}

/// `lost update (G-single; Elle: lost-update)`: the name of what went wrong, with Adya's and Elle's.
pub(in crate::checker) fn title(history: &History, counterexample: &Counterexample) -> String {
    let anomaly = counterexample.anomaly;
    let adya = anomaly.adya().map(str::to_owned);
    let elle = elle(history, counterexample);
    let elle = elle.filter(|name| adya.as_ref() != Some(name));
    let elle = elle.map(|name| format!("Elle: {name}"));
    let names: Vec<String> = adya.into_iter().chain(elle).collect();
    match names.is_empty() {
        true => anomaly.to_string(),
        false => format!("{anomaly} ({})", names.join("; ")),
    }
}

/// What a counterexample says: a sentence an edge, and what the edges have to do with each other.
pub(in crate::checker) fn sentences(
    history: &History,
    counterexample: &Counterexample,
) -> Vec<String> {
    let edges = as_told(history, counterexample);
    let mut sentences: Vec<String> = edges.iter().map(|e| edge_in_words(history, e)).collect();
    sentences.extend(lost_update::sentence(history, counterexample));
    let core = names(history, &counterexample.core);
    if edges.is_empty() {
        let allowed = match counterexample.anomaly {
            Anomaly::StaleRead => " that real time allows",
            Anomaly::ThinAirRead
            | Anomaly::AbortedRead
            | Anomaly::DirtyRead
            | Anomaly::FutureRead
            | Anomaly::NotMyLastWrite
            | Anomaly::NotMyOwnWrite
            | Anomaly::IntermediateRead
            | Anomaly::NonRepeatableRead
            | Anomaly::SessionGuaranteeViolation
            | Anomaly::NonMonotonicRead
            | Anomaly::FracturedRead
            | Anomaly::CausalityViolation
            | Anomaly::LongFork
            | Anomaly::LostUpdate
            | Anomaly::WriteSkew
            | Anomaly::DirtyWrite
            | Anomaly::CircularInformationFlow
            | Anomaly::ReadSkew
            | Anomaly::IncompatibleOrder
            | Anomaly::NoVersionOrder
            | Anomaly::NoSerialOrder
            | Anomaly::TimestampExternal
            | Anomaly::TimestampConflict
            | Anomaly::TimestampSession => "",
        };
        let order = "no order of the writes of these";
        sentences.push(format!("{order}{allowed} explains all reads: {core}"));
        sentences.extend(orders::story(history, counterexample));
    } else if !core.is_empty() {
        let each = "each reads from the one before, or follows it in its session";
        sentences.push(format!("by way of {core}: {each}"));
    }
    sentences
}

/// So many transactions are named, where no small part shows the violation.
const NAMED_MAX: usize = 40;

fn names(history: &History, transactions: &[Txn]) -> String {
    let mut names: Vec<String> = transactions.iter().map(|t| history.name(*t)).collect();
    let more = names.len().saturating_sub(NAMED_MAX);
    names.truncate(NAMED_MAX);
    match more {
        0 => names.join(", "),
        _ => format!("{}, and {more} more", names.join(", ")),
    }
}

pub(in crate::checker) fn transaction_in_words(
    history: &History,
    counterexample: &Counterexample,
    transaction: Txn,
) -> String {
    let events = history
        .events(transaction)
        .map(|event| event_in_words(history, transaction, event));
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
pub(in crate::checker) fn origin_in_words(history: &History, transaction: Txn) -> String {
    let session = history.spelled(history.session(history.session_of(transaction)));
    let status = match history.status(transaction) {
        Status::Committed => "",
        Status::Aborted => ", aborted",
        Status::Indeterminate => ", indeterminate",
    };
    format!("{} of session {session}{status}", history.name(transaction))
}

/// The timestamps of a transaction as our format spells them, where they are the evidence.
pub(in crate::checker) fn span_in_words(
    history: &History,
    counterexample: &Counterexample,
    transaction: Txn,
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

pub(in crate::checker) fn event_in_words(
    history: &History,
    transaction: Txn,
    event: Event,
) -> String {
    let letter = match event.kind {
        Kind::Read => 'r',
        Kind::Write => 'w',
    };
    let key = history.spelled(history.key(event.key));
    let value = match event.kind {
        Kind::Read if history.has_lists() => {
            let (list, is_cut) = list_of(history, transaction, event);
            let words = list_in_words(history, &list, 0);
            if is_cut {
                words.replacen('[', "[.. ", 1)
            } else {
                words
            }
        }
        Kind::Read | Kind::Write => history.spelled(event.value),
    };
    format!("{letter}({key},{value})")
}

/// The list that an event of a transaction read, as far as the history still has it, and whether
/// its beginning is not known: of a list that is no beginning of the longest, and where the last
/// element stands in the longest more than once, only that element is.
fn list_of(history: &History, transaction: Txn, read: Event) -> (Vec<Atom>, bool) {
    if read.value == Atom::NIL {
        return (Vec::new(), false);
    }
    let conflicts = history.order_conflicts().iter();
    let conflicts = conflicts.filter(|conflict| conflict.key == read.key);
    let mut exact = conflicts.filter_map(|conflict| {
        let [first, second] = conflict.lists.as_ref()?;
        let is_it =
            |reader: Txn, list: &[Atom]| reader == transaction && list.last() == Some(&read.value);
        let second = is_it(conflict.second, second).then_some(second);
        second.or_else(|| is_it(conflict.first, first).then_some(first))
    });
    if let Some(list) = exact.next() {
        return (list.clone(), false);
    }
    let orders = history.orders().iter().filter(|order| order.0 == read.key);
    let list = orders.into_iter().find_map(|(_, list)| {
        let mut places = list.iter().enumerate().filter(|(_, v)| **v == read.value);
        match (places.next(), places.next()) {
            (Some((place, _)), None) => Some(list[..=place].to_vec()),
            _ => None,
        }
    });
    match list {
        Some(list) => (list, false),
        None => (vec![read.value], true),
    }
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
        return format!("{second} reads {list} for {key}: an element more often than appended");
    }
    format!(
        "{first} reads {} for {key}, {second} reads {}: neither begins with the other",
        shown(one),
        shown(other)
    )
}

/// A value that a list or an order of versions has, and that no transaction left there.
fn listed_in_words(history: &History, edge: &Edge, key: Key, value: Atom) -> String {
    let (from, to) = (history.name(edge.from), history.name(edge.to));
    let (key, value) = (history.spelled(history.key(key)), history.spelled(value));
    let whence = match edge.from == edge.to {
        true => "no transaction wrote".to_owned(),
        false => format!("{from} wrote and aborted"),
    };
    match edge.to.is_initial() {
        true => format!("the order of {key} names {value}, which {whence}"),
        false => format!("{to} reads {key} behind {value}, which {whence}"),
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
        writer: (!edge.from.is_initial()).then(|| history.label(edge.from)),
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
fn last_write(history: &History, mut range: Range<usize>, key: Key) -> Option<Atom> {
    let is_it = |event: &Event| event.kind == Kind::Write && event.key == key;
    let last = range.rfind(|at| is_it(&history.event(*at)));
    last.map(|at| history.event(at).value)
}

pub(in crate::checker) fn edge_in_words(history: &History, edge: &Edge) -> String {
    let (from, to) = (history.name(edge.from), history.name(edge.to));
    let key = |key: Key| history.spelled(history.key(key));
    match edge.reason {
        Reason::Session if edge.from.is_initial() => {
            format!("{from} -SO-> {to}: {from} is the beginning")
        }
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
