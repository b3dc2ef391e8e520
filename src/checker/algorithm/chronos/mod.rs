//! Snapshot isolation and serializability from the engine's own timestamps (Chronos, ICDE 2025).
//!
//! The history is run once in the order of its timestamps, and each axiom is looked at as it goes:
//! SESSION (a transaction starts after the one before it in its session committed), INT (it reads
//! what it wrote itself), EXT (otherwise it reads what had committed when it started), NOCONFLICT
//! (two transactions that overlap write no common key). For serializability only commits count:
//! each transaction must read what those before it left. O(n log n + m), and every breach counts.
//!
//! A commit at the time of a start is in its snapshot. A violation is one of *the model in the
//! order of the timestamps*: another order may still explain the history, and a black-box check
//! tells. That is why `auto` does not ask this checker.

#[cfg(test)]
pub(in crate::checker) mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::checker::answer::{Answer, Checker};
use crate::checker::budget::Budget;
use crate::checker::evidence::counterexample::{Counterexample, Edge, Reason};
use crate::checker::evidence::replay::replay;
use crate::checker::evidence::witness::{Point, Witness};
use crate::history::{Atom, History, Key, Kind, Span, Status, Txn};
use crate::model::Anomaly;
use crate::model::ConsistencyModel;

/// Judges by timestamps.
pub(in crate::checker) struct Chronos;

/// How many breaches a counterexample names; the first in the order of the timestamps.
const BREACHES_SHOWN: usize = 20;

impl Checker for Chronos {
    fn name(&self) -> &'static str {
        "chronos"
    }

    fn models(&self) -> &'static [ConsistencyModel] {
        &[ConsistencyModel::Snapshot, ConsistencyModel::Serializable]
    }

    fn judges_timestamps(&self) -> bool {
        true
    }

    fn check(&self, history: &History, model: ConsistencyModel, _budget: Budget) -> Answer {
        let mut run = match TimestampRun::new(history, model) {
            Ok(run) => run,
            Err(reason) => return Answer::Unknown(reason),
        };
        let witness = run.through();
        let Some((anomaly, _)) = run.breaches.first() else {
            if let Some(reader) = run.saw_doubtful {
                let reader = history.name(reader);
                return Answer::Unknown(format!(
                    "{reader} reads from a transaction whose commit has no certain time"
                ));
            }
            // Reads of lists were compared by their last values; the rest of the lists is left.
            let follows = history.orders().is_empty() || replay(history, model, &witness).is_ok();
            return if follows && history.order_conflicts().is_empty() {
                Answer::Satisfied(witness)
            } else {
                Answer::Unknown("the lists do not follow the timestamps".to_owned())
            };
        };
        Answer::Violated(Counterexample {
            anomaly: *anomaly,
            edges: run.breaches.iter().map(|(_, edge)| *edge).collect(),
            core: Vec::new(),
        })
    }
}

/// A history on its way through time.
struct TimestampRun<'h> {
    history: &'h History,
    model: ConsistencyModel,
    /// Time, whether it comes after the commits of that time, transaction. After them come starts
    /// and, serially, transactions that wrote nothing: they see what was committed then.
    points: Vec<(i64, bool, Txn)>,
    /// The value of every key, and who left it.
    frontier: Vec<(Atom, Txn)>,
    /// Commit timestamps and transactions of the writers of each key, oldest first.
    commits: Vec<Vec<(i64, Txn)>>,
    /// Transactions that begin before one that precedes them in their session has ended, and that
    /// one.
    early: BTreeMap<Txn, Txn>,
    /// Keys and values written by transactions whose commit timestamp is not known.
    doubtful: BTreeSet<(Key, Atom)>,
    saw_doubtful: Option<Txn>,
    breaches: Vec<(Anomaly, Edge)>,
}

impl<'h> TimestampRun<'h> {
    fn new(history: &'h History, model: ConsistencyModel) -> Result<Self, String> {
        let mut points = Vec::with_capacity(history.len() * 2);
        let mut doubtful = BTreeSet::new();
        let mut writers = Vec::new();
        for transaction in history.transactions() {
            let name = || history.name(transaction);
            let span = history.timestamps(transaction);
            let writes = || {
                history
                    .events(transaction)
                    .filter(|e| e.kind == Kind::Write)
            };
            match (history.status(transaction), span) {
                (Status::Aborted, _) => {}
                // It is not known whether it took place, and so not when.
                (Status::Indeterminate, _) => {
                    doubtful.extend(writes().map(|event| (event.key, event.value)));
                }
                (_, None | Some(Span { to: i64::MAX, .. })) => {
                    return Err(format!("{} has no timestamps", name()));
                }
                (_, Some(Span { from, to })) => {
                    let is_writer = writes().next().is_some();
                    if from > to || from == to && is_writer {
                        return Err(format!("{} does not commit after it starts", name()));
                    }
                    if is_writer {
                        writers.push(to);
                    }
                    if model == ConsistencyModel::Snapshot {
                        points.push((from, true, transaction));
                    }
                    // Who writes nothing commits at once: its end binds its session only.
                    if is_writer || model != ConsistencyModel::Snapshot {
                        points.push((to, !is_writer, transaction));
                    }
                }
            }
        }
        writers.sort_unstable();
        if let Some(pair) = writers.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("two writers commit at {}", pair[0]));
        }
        points.sort_unstable();
        let keys = history.key_count();
        Ok(Self {
            history,
            model,
            points,
            frontier: history
                .all_keys()
                .map(|key| (history.initial(key), Txn::INITIAL))
                .collect(),
            commits: vec![Vec::new(); keys],
            early: early(history, model),
            doubtful,
            saw_doubtful: None,
            breaches: Vec::new(),
        })
    }
}

/// Transactions in the order of their sessions, which is that of the file: those that begin before
/// another one that precedes them has ended, and of these the one that ended last.
fn early(history: &History, model: ConsistencyModel) -> BTreeMap<Txn, Txn> {
    let mut ended = vec![((i64::MIN, false), Txn::INITIAL); history.session_count()];
    let mut early = BTreeMap::new();
    for transaction in history.transactions() {
        let Some(span) = history.timestamps(transaction) else {
            continue;
        };
        if history.status(transaction) != Status::Committed {
            continue;
        }
        // As in the points: serially, who wrote nothing comes behind the commits of its time.
        let (begins, ends) = if model == ConsistencyModel::Snapshot {
            ((span.from, false), (span.to, false))
        } else {
            let mut events = history.events(transaction);
            let point = (span.to, !events.any(|event| event.kind == Kind::Write));
            (point, point)
        };
        let (latest, before) = &mut ended[history.session_of(transaction) as usize];
        if begins < *latest {
            early.insert(transaction, *before);
        }
        if ends >= *latest {
            (*latest, *before) = (ends, transaction);
        }
    }
    early
}

impl TimestampRun<'_> {
    /// Goes through all points; what the order of the timestamps is a witness of, if nothing is
    /// breached.
    fn through(&mut self) -> Witness {
        let points = std::mem::take(&mut self.points);
        let (mut order, mut moments) = (Vec::new(), Vec::new());
        for (time, is_late, transaction) in points {
            if is_late && self.model == ConsistencyModel::Snapshot {
                moments.push(Point::Start(transaction));
                self.start(transaction);
                if !self.writes(transaction) {
                    moments.push(Point::Commit(transaction));
                }
                continue;
            }
            moments.push(Point::Commit(transaction));
            order.push(transaction);
            if self.model != ConsistencyModel::Snapshot {
                self.start(transaction);
            }
            self.commit(time, transaction);
        }
        match self.model {
            ConsistencyModel::Snapshot => Witness::Points(moments),
            ConsistencyModel::ReadCommitted
            | ConsistencyModel::ReadAtomic
            | ConsistencyModel::Causal
            | ConsistencyModel::Serializable
            | ConsistencyModel::StrictSerializable
            | ConsistencyModel::Linearizable => Witness::Order(order),
        }
    }

    fn writes(&self, transaction: Txn) -> bool {
        self.history
            .events(transaction)
            .any(|event| event.kind == Kind::Write)
    }

    fn breach(&mut self, anomaly: Anomaly, from: Txn, to: Txn, reason: Reason) {
        let edge = Edge { from, to, reason };
        let is_told =
            |told: &(Anomaly, Edge)| told.0 == anomaly && self.says_the_same(told.1, edge);
        if self.breaches.len() < BREACHES_SHOWN && !self.breaches.iter().any(is_told) {
            self.breaches.push((anomaly, edge));
        }
    }

    /// Whether two edges say the same: a read that is repeated is no second breach.
    fn says_the_same(&self, one: Edge, other: Edge) -> bool {
        let read = |reason| match reason {
            Reason::Event(at) | Reason::Missed(at) => Some(self.history.event(at)),
            Reason::Session
            | Reason::RealTime
            | Reason::WriteRead(_)
            | Reason::WriteWrite(_)
            | Reason::ReadWrite(_)
            | Reason::SeenBy { .. }
            | Reason::Listed { .. }
            | Reason::Lists(_)
            | Reason::Early
            | Reason::Overlap(_) => None,
        };
        let is_same_reason = match (read(one.reason), read(other.reason)) {
            (Some(one), Some(other)) => (one.key, one.value) == (other.key, other.value),
            _ => one.reason == other.reason,
        };
        (one.from, one.to) == (other.from, other.to) && is_same_reason
    }

    /// SESSION, INT and EXT, where the transaction takes its snapshot.
    fn start(&mut self, transaction: Txn) {
        let history = self.history;
        if let Some(before) = self.early.get(&transaction).copied() {
            let anomaly = Anomaly::TimestampSession;
            self.breach(anomaly, before, transaction, Reason::Early);
        }
        // Transactions are short: looking back through one costs less than a map.
        let range = history.event_range(transaction);
        for at in range.clone() {
            let event = history.event(at);
            if event.kind == Kind::Write {
                continue;
            }
            let mut earlier = (range.start..at).rev().map(|at| history.event(at));
            let own = earlier.find(|e| e.kind == Kind::Write && e.key == event.key);
            let (held, writer) = self.frontier[event.key];
            match own {
                Some(own) if own.value == event.value => {}
                Some(_) => {
                    let reason = Reason::Event(at);
                    self.breach(Anomaly::NotMyOwnWrite, transaction, transaction, reason);
                }
                None if held == event.value => {}
                None if self.doubtful.contains(&(event.key, event.value)) => {
                    self.saw_doubtful.get_or_insert(transaction);
                }
                None => {
                    self.breach(
                        Anomaly::TimestampExternal,
                        writer,
                        transaction,
                        Reason::Missed(at),
                    );
                }
            }
        }
    }

    /// NOCONFLICT, and the writes become what others read.
    fn commit(&mut self, time: i64, transaction: Txn) {
        let history = self.history;
        let started = history
            .timestamps(transaction)
            .map_or(time, |span| span.from);
        let events: Vec<_> = history.events(transaction).collect();
        for (at, event) in events
            .iter()
            .enumerate()
            .filter(|(_, e)| e.kind == Kind::Write)
        {
            let is_same =
                |later: &crate::history::Event| later.kind == Kind::Write && later.key == event.key;
            if events[at + 1..].iter().any(is_same) {
                continue;
            }
            let key = event.key;
            self.frontier[key] = (event.value, transaction);
            if self.model != ConsistencyModel::Snapshot {
                continue;
            }
            let commits = std::mem::take(&mut self.commits[key]);
            for (_, other) in commits.iter().rev().take_while(|(time, _)| *time > started) {
                let reason = Reason::Overlap(event.key);
                self.breach(Anomaly::TimestampConflict, *other, transaction, reason);
            }
            self.commits[key] = commits;
            self.commits[key].push((time, transaction));
        }
    }
}
