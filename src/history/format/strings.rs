//! Stores of texts with put, append and get, as Porcupine tests with: registers, exactly.
//!
//! The register holds the whole text. What was appended is found again in the texts that were got,
//! from their ends: an append that is seen there read what stands before it and wrote that with
//! its own behind. One that nobody saw wrote something that nobody read, whatever it found: before
//! the next text that was got, somebody put another. All this needs texts that are written once
//! a key and can be told apart in a text that is made of them.

use std::collections::{BTreeMap, BTreeSet};

use super::form::Form;
use crate::history::{Builder, Event, Head, HistoryError, Key, Kind, OrderConflict, Status};

/// What an operation does to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Put,
    Append,
    Get,
}

/// An operation whose meaning depends on all others.
#[derive(Debug)]
struct TextOperation {
    line: u64,
    head: Head,
    action: Action,
    key: Key,
    text: String,
    /// What an append found, and the operation that shows it.
    found: Option<(String, usize)>,
}

/// Collects operations on texts.
#[derive(Debug, Default)]
pub(super) struct Strings {
    operations: Vec<TextOperation>,
    /// Who wrote a text to a key.
    written: BTreeMap<(Key, String), usize>,
    /// The lengths of what was written to a key, in bytes.
    lengths: BTreeMap<Key, BTreeSet<usize>>,
}

impl Strings {
    /// Whether an operation is one on a text: it names its key beside its value.
    pub(super) fn are_meant(f: Option<&str>, asked: Form<'_>) -> bool {
        matches!(f, Some("put" | "append" | "get")) && asked.get("key").is_some()
    }

    /// Takes an operation.
    ///
    /// # Errors
    /// When what it writes is no text, or was written to the key before.
    pub(super) fn push(
        &mut self,
        line: u64,
        head: Head,
        f: Option<&str>,
        key: Key,
        value: Form<'_>,
    ) -> Result<(), HistoryError> {
        let error = |message: &str| Err(HistoryError::at(line, 1, message));
        let action = match f {
            Some("put") => Action::Put,
            Some("append") => Action::Append,
            _ => Action::Get,
        };
        let text = match (action, value) {
            (_, Form::Text(text)) => text.to_owned(),
            // What an operation that did not end well has got is not known.
            (Action::Get, Form::Nil) if head.status != Status::Committed => String::new(),
            _ => return error("a value that is no text"),
        };
        let number = self.operations.len();
        if action != Action::Get {
            if text.is_empty() {
                return error("an empty text leaves no trace");
            }
            self.lengths.entry(key).or_default().insert(text.len());
            if self.written.insert((key, text.clone()), number).is_some() {
                return error("a text that was written to this key before");
            }
        }
        self.operations.push(TextOperation {
            line,
            head,
            action,
            key,
            text,
            found: None,
        });
        Ok(())
    }

    /// Tells the builder what was collected.
    ///
    /// # Errors
    /// When a text can be taken apart in several ways, or the history grows too large.
    pub(super) fn finish(mut self, builder: &mut Builder) -> Result<(), HistoryError> {
        let mut conflicts = Vec::new();
        for number in 0..self.operations.len() {
            let operation = &self.operations[number];
            if operation.action == Action::Get && operation.head.status == Status::Committed {
                conflicts.extend(self.take_apart(number)?);
            }
        }
        let empty = builder.text("")?;
        let mut transactions = Vec::new();
        for operation in &self.operations {
            let mut events = Vec::new();
            let key = operation.key;
            builder.set_initial(key, empty);
            let mut event = |kind, text: &str| -> Result<(), HistoryError> {
                let value = builder.text(text)?;
                events.push(Event { kind, key, value });
                Ok(())
            };
            match (operation.action, &operation.found) {
                (Action::Get, _) if operation.head.status != Status::Committed => {}
                (Action::Get, _) => event(Kind::Read, &operation.text)?,
                (Action::Append, Some((found, _))) => {
                    event(Kind::Read, found)?;
                    event(Kind::Write, &format!("{found}{}", operation.text))?;
                }
                (Action::Put | Action::Append, _) => event(Kind::Write, &operation.text)?,
            }
            transactions.push(builder.transaction(&operation.head, events)?);
        }
        for (key, first, second) in conflicts {
            builder.order_conflict(OrderConflict {
                key,
                first: transactions[first],
                second: transactions[second],
                lists: None,
            });
        }
        Ok(())
    }

    /// Finds what was appended in a text that was got; a conflict when an append was seen behind
    /// something else before.
    fn take_apart(&mut self, number: usize) -> Result<Option<(Key, usize, usize)>, HistoryError> {
        let (key, line) = (self.operations[number].key, self.operations[number].line);
        let mut rest = self.operations[number].text.clone();
        while !rest.is_empty() {
            let lengths = self.lengths.get(&key).into_iter().flatten();
            let ends = lengths.filter_map(|length| {
                let begin = rest.len().checked_sub(*length)?;
                let end = rest.get(begin..)?.to_owned();
                self.written.get(&(key, end)).map(|by| (*by, begin))
            });
            let ends: Vec<(usize, usize)> = ends.collect();
            let (by, begin) = match ends[..] {
                // A text that nobody wrote: a read from thin air.
                [] => return Ok(None),
                [one] => one,
                _ => {
                    let message = "a text that can be taken apart in several ways";
                    return Err(HistoryError::at(line, 1, message));
                }
            };
            if self.operations[by].action == Action::Put {
                return Ok(None);
            }
            rest.truncate(begin);
            match &self.operations[by].found {
                None => self.operations[by].found = Some((rest.clone(), number)),
                Some((found, _)) if *found == rest => return Ok(None),
                Some((_, first)) => return Ok(Some((key, *first, number))),
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use crate::history::format::by_name;

    fn events(log: &[(u32, &str, &str)]) -> Result<Vec<String>, String> {
        let line = |(process, f, value): &(u32, &str, &str)| {
            format!("{{:process {process}, :type :ok, :f :{f}, :key \"k\", :value \"{value}\"}}\n")
        };
        let text: String = log.iter().map(line).collect();
        let elle = by_name("elle").expect("a format");
        let history = (elle.read)(&mut text.as_bytes()).map_err(|error| error.to_string())?;
        assert!(history.order_conflicts().len() < 2);
        let conflict = history
            .order_conflicts()
            .iter()
            .map(|_| "conflict".to_owned());
        let shown = history.transactions().map(|t| {
            let events = history.events(t);
            let events = events.map(|e| format!("{:?} {}", e.kind, history.show(e.value)));
            events.collect::<Vec<_>>().join(", ")
        });
        Ok(shown.chain(conflict).collect())
    }

    #[test]
    fn appends_are_reads_and_writes_where_somebody_saw_them() {
        let log = [
            (1, "append", "a"),
            (2, "append", "b"),
            (3, "get", "ab"),
            (1, "append", "c"),
            (2, "put", "d"),
            (3, "get", "d"),
            (3, "get", "x"),
        ];
        let expected = [
            "Read , Write a",
            "Read a, Write ab",
            "Read ab",
            "Write c",
            "Write d",
            "Read d",
            "Read x",
        ];
        assert_eq!(events(&log), Ok(expected.map(str::to_owned).to_vec()));
    }

    #[test]
    fn an_append_behind_two_texts_is_a_conflict() {
        let log = [
            (1, "append", "a"),
            (2, "append", "b"),
            (3, "get", "ab"),
            (3, "get", "b"),
        ];
        let found = events(&log).expect("a history");
        assert_eq!(found.last().map(String::as_str), Some("conflict"));
    }

    #[test]
    fn other_operations_beside_those_on_texts_are_refused() {
        let text = "{:process 0, :type :ok, :f :append, :key 7, :value \"a\"}\n";
        let other = "{:process 0, :type :ok, :f :txn, :value [[:r 6 nil]]}\n";
        let elle = by_name("elle").expect("a format");
        for log in [format!("{text}{other}"), format!("{other}{text}")] {
            let read = (elle.read)(&mut log.as_bytes());
            let error = read.map(drop).expect_err("two kinds").to_string();
            assert!(
                error.starts_with("line 2, column 1: operations on texts"),
                "{error}"
            );
        }
    }

    #[test]
    fn texts_that_cannot_be_told_apart_are_errors() {
        let twice = [(1, "append", "a"), (2, "append", "a")];
        let inner = [(1, "append", "ab"), (2, "append", "b"), (3, "get", "ab")];
        for (log, message) in [
            (&twice[..], "line 2, column 1: a text that was written"),
            (
                &inner[..],
                "line 3, column 1: a text that can be taken apart",
            ),
        ] {
            let error = events(log).expect_err(message);
            assert!(error.starts_with(message), "{error}");
        }
    }
}
