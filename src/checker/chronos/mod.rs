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
pub(super) mod tests;

use std::collections::BTreeSet;

use super::anomaly::Anomaly;
use super::evidence::{Counterexample, Edge, Point, Reason, Witness};
use super::replay::replay;
use super::{Answer, Budget, Checker, Model};
use crate::history::{Atom, History, Kind, Span, Status};

/// Judges by timestamps.
pub(super) struct Chronos;

/// How many breaches a counterexample names; the first in the order of the timestamps.
const BREACHES_SHOWN: usize = 20;

impl Checker for Chronos {
    fn name(&self) -> &'static str {
        "chronos"
    }

    fn models(&self) -> &'static [Model] {
        &[Model::Snapshot, Model::Serializable]
    }

    fn judges_timestamps(&self) -> bool {
        true
    }

    fn check(&self, history: &History, model: Model, _budget: Budget) -> Answer {
        let mut run = match Run::new(history, model) {
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
struct Run<'h> {
    history: &'h History,
    model: Model,
    /// Time, whether it comes after the commits of that time, transaction. After them come starts
    /// and, serially, transactions that wrote nothing: they see what was committed then.
    points: Vec<(i64, bool, u32)>,
    /// The value of every key, and who left it.
    frontier: Vec<(Atom, u32)>,
    /// Commits of writers by key, oldest first, as long as somebody may overlap them.
    commits: Vec<Vec<(i64, u32)>>,
    /// The commit of the last transaction of every session, and the transaction.
    sessions: Vec<(i64, u32)>,
    /// What transactions without timestamps wrote, whose commit nobody knows.
    doubtful: BTreeSet<(u32, Atom)>,
    saw_doubtful: Option<u32>,
    breaches: Vec<(Anomaly, Edge)>,
}

impl<'h> Run<'h> {
    fn new(history: &'h History, model: Model) -> Result<Self, String> {
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
                // Whether it took place nobody knows, whatever time it would have done so at.
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
                    if model == Model::Snapshot {
                        points.push((from, true, transaction));
                    }
                    // Who writes nothing commits at once: its end binds its session only.
                    if is_writer || model != Model::Snapshot {
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
            frontier: (0..keys as u32)
                .map(|key| (history.initial(key), 0))
                .collect(),
            commits: vec![Vec::new(); keys],
            sessions: vec![(i64::MIN, 0); history.session_count()],
            doubtful,
            saw_doubtful: None,
            breaches: Vec::new(),
        })
    }
}

impl Run<'_> {
    /// Goes through all points; what the order of the timestamps is a witness of, if nothing is
    /// breached.
    fn through(&mut self) -> Witness {
        let points = std::mem::take(&mut self.points);
        let (mut order, mut moments) = (Vec::new(), Vec::new());
        for (time, is_late, transaction) in points {
            if is_late && self.model == Model::Snapshot {
                moments.push(Point::Start(transaction));
                self.start(time, transaction);
                if !self.writes(transaction) {
                    moments.push(Point::Commit(transaction));
                }
                continue;
            }
            moments.push(Point::Commit(transaction));
            order.push(transaction);
            if self.model != Model::Snapshot {
                self.start(time, transaction);
            }
            self.commit(time, transaction);
        }
        match self.model {
            Model::Snapshot => Witness::Points(moments),
            _ => Witness::Order(order),
        }
    }

    fn writes(&self, transaction: u32) -> bool {
        self.history
            .events(transaction)
            .any(|event| event.kind == Kind::Write)
    }

    fn breach(&mut self, anomaly: Anomaly, from: u32, to: u32, reason: Reason) {
        if self.breaches.len() < BREACHES_SHOWN {
            self.breaches.push((anomaly, Edge { from, to, reason }));
        }
    }

    /// SESSION, INT and EXT, where the transaction takes its snapshot.
    fn start(&mut self, time: i64, transaction: u32) {
        let history = self.history;
        let session = history.session_of(transaction) as usize;
        let (ended, before) = self.sessions[session];
        if time < ended || transaction < before {
            self.breach(
                Anomaly::TimestampSession,
                before,
                transaction,
                Reason::Session,
            );
        }
        let end = history.timestamps(transaction).map_or(time, |span| span.to);
        self.sessions[session] = (end.max(ended), transaction.max(before));
        // Transactions are short: looking back through one costs less than a map.
        let range = history.event_range(transaction);
        for at in range.clone() {
            let event = history.event(at);
            if event.kind == Kind::Write {
                continue;
            }
            let mut earlier = (range.start..at).rev().map(|at| history.event(at));
            let own = earlier.find(|e| e.kind == Kind::Write && e.key == event.key);
            let (held, writer) = self.frontier[event.key as usize];
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
    fn commit(&mut self, time: i64, transaction: u32) {
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
            let key = event.key as usize;
            self.frontier[key] = (event.value, transaction);
            if self.model != Model::Snapshot {
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
