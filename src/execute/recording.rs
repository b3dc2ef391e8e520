//! Statements sent: counts for every run, the whole stream on demand.

use std::collections::BTreeMap;

/// Which connection something was sent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConnectionRole {
    /// A session of cases, counted from 0.
    Session(usize),
    /// The connection that resets the tables and reads the final state.
    Keeper,
    Observer,
    /// The connection of serial runs, with a database of its own.
    Serial,
}

/// One statement of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The connection it was sent on.
    pub place: ConnectionRole,
    pub sql: String,
    /// It was sent in one command with the statement before it; in a session: behind a PREPARE, if that was accepted.
    pub with_previous: bool,
    /// It was seen waiting for a lock.
    pub waited: bool,
    /// Statements of the stream sent before its answer came; None without an answer.
    pub answered: Option<usize>,
    /// The engine ended its transaction by rejecting it.
    pub aborted: bool,
}

/// Everything that was sent on the connections of one driver, in the order of sending, without
/// polls of the lock view and queries of a transaction's state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// In the order of sending.
    pub stream: Vec<Sent>,
    /// How often the server was asked for the state of a transaction.
    pub questions: u64,
    /// How often the lock view was read.
    pub polls: u64,
}

impl Recording {
    /// How many statements begin with each word, in upper case: `SELECT`, `UPDATE`, ...
    pub fn first_words(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for sent in &self.stream {
            *counts.entry(first_word(&sent.sql)).or_insert(0) += 1;
        }
        counts
    }
}

/// The word that a statement begins with, in upper case.
pub fn first_word(sql: &str) -> String {
    let word = sql.trim_start_matches(|c: char| c == '(' || c.is_whitespace());
    let word = word.chars().take_while(char::is_ascii_alphabetic);
    word.map(|c| c.to_ascii_uppercase()).collect()
}

/// Counts sent statements, and records them on demand.
#[derive(Debug, Default)]
pub(super) struct SentLog {
    sent: u64,
    sent_in_all: u64,
    recording: Option<Recording>,
    /// Where the last statement of each connection stands in the stream.
    last: BTreeMap<ConnectionRole, usize>,
    /// A connection gave no answer; all of them must be replaced.
    pub(super) failed: bool,
}

impl SentLog {
    pub(super) fn start_recording(&mut self) {
        self.recording = Some(Recording::default());
        self.last.clear();
    }

    pub(super) fn take_recording(&mut self) -> Option<Recording> {
        self.last.clear();
        self.recording.as_mut().map(std::mem::take)
    }

    pub(super) fn sent(&mut self, place: ConnectionRole, sql: &str) {
        self.note_sent(place, sql, false);
    }

    /// Several statements were sent in one command, or an EXECUTE behind its PREPARE.
    pub(super) fn sent_together(&mut self, place: ConnectionRole, statements: &[String]) {
        for (index, sql) in statements.iter().enumerate() {
            self.note_sent(place, sql, index > 0);
        }
    }

    fn note_sent(&mut self, place: ConnectionRole, sql: &str, with_previous: bool) {
        self.sent += 1;
        self.sent_in_all += 1;
        if let Some(recording) = &mut self.recording {
            self.last.insert(place, recording.stream.len());
            recording.stream.push(Sent {
                place,
                sql: sql.to_owned(),
                with_previous,
                waited: false,
                answered: None,
                aborted: false,
            });
        }
    }

    /// Counts a query of a transaction's state.
    pub(super) fn asked(&mut self) {
        self.count(|recording| recording.questions += 1);
    }

    /// Counts a poll of the lock view.
    pub(super) fn polled(&mut self) {
        self.count(|recording| recording.polls += 1);
    }

    fn count(&mut self, entry: impl FnOnce(&mut Recording)) {
        self.sent += 1;
        self.sent_in_all += 1;
        if let Some(recording) = &mut self.recording {
            entry(recording);
        }
    }

    /// The last statement of this connection was not sent: the PREPARE before it was rejected.
    pub(super) fn not_sent(&mut self, place: ConnectionRole) {
        self.sent -= 1;
        self.sent_in_all -= 1;
        let Some(recording) = &mut self.recording else {
            return;
        };
        let Some(index) = self.last.remove(&place) else {
            return;
        };
        recording.stream.remove(index);
        let answered = recording
            .stream
            .iter_mut()
            .filter_map(|s| s.answered.as_mut());
        for behind in self.last.values_mut().chain(answered) {
            *behind -= usize::from(*behind > index);
        }
    }

    /// The last statement of this connection waits.
    pub(super) fn waited(&mut self, place: ConnectionRole) {
        if let Some(sent) = self.last_of(place) {
            sent.waited = true;
        }
    }

    /// The last statement of this connection answered.
    pub(super) fn answered(&mut self, place: ConnectionRole, aborted: bool) {
        let length = self.recording.as_ref().map(|r| r.stream.len());
        if let Some(sent) = self.last_of(place) {
            sent.answered = length;
            sent.aborted = aborted;
        }
    }

    fn last_of(&mut self, place: ConnectionRole) -> Option<&mut Sent> {
        let index = *self.last.get(&place)?;
        self.recording.as_mut()?.stream.get_mut(index)
    }

    pub(super) fn sent_in_all(&self) -> u64 {
        self.sent_in_all
    }

    /// How many statements were sent since the last call.
    pub(super) fn take_count(&mut self) -> u64 {
        std::mem::take(&mut self.sent)
    }
}
