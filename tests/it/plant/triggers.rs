//! Faults of the triggers that fill the tables `log1` and `log2` of generated cases.

use std::io;

use super::answer::WireAnswer;
use super::conversation::Conversation;
use super::text::write_kind;

/// The tables that triggers fill, by the names that the generator gives them.
const LOGS: [&str; 2] = ["log1", "log2"];

/// The rows that the trigger of a write has put into a table.
struct Filled {
    log: &'static str,
    version_key: String,
    /// Their keys, with commas between them.
    keys: Vec<String>,
}

impl Conversation {
    pub(super) fn trigger_does_nothing(&mut self, sql: &str) -> io::Result<WireAnswer> {
        self.spoil_trigger(sql, |filled| {
            let Filled { log, keys, .. } = filled;
            format!("DELETE FROM {log} WHERE pkey IN ({})", keys.join(", "))
        })
    }

    pub(super) fn trigger_fires_twice(&mut self, sql: &str) -> io::Result<WireAnswer> {
        self.spoil_trigger(sql, Filled::again)
    }

    pub(super) fn trigger_outlives_rollback(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let is_rollback = sql.trim_end_matches(';').eq_ignore_ascii_case("ROLLBACK");
        let last = self.transaction.last_write.clone();
        let last = last.filter(|_| is_rollback);
        let filled = match last {
            Some(last) => self.filled_by(&last)?,
            None => None,
        };
        let answer = self.ask(sql)?;
        match filled {
            Some(filled) if self.plot.is_due(sql) => {
                self.ask(&filled.again())?;
                Ok(answer)
            }
            _ => Ok(answer),
        }
    }

    /// Sends a statement of our own behind a write in a transaction that fired a trigger.
    fn spoil_trigger(
        &mut self,
        sql: &str,
        own: impl FnOnce(&Filled) -> String,
    ) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let is_write = write_kind(sql).is_some() && answer.error().is_none();
        if !is_write || !self.transaction.is_open {
            return Ok(answer);
        }
        let names_a_log = LOGS.iter().any(|log| sql.contains(log));
        let filled = match names_a_log {
            true => None,
            false => self.filled_by(sql)?,
        };
        match filled {
            Some(filled) if self.plot.is_due(sql) => self.aside(Some(own(&filled)), answer),
            _ => Ok(answer),
        }
    }

    /// What the trigger of a write has put into a table, as a connection beside reads it that locks nothing.
    fn filled_by(&mut self, write: &str) -> io::Result<Option<Filled>> {
        let Some(version_key) = version_key(write) else {
            return Ok(None);
        };
        self.ask_beside("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")?;
        for log in LOGS {
            let query = format!("SELECT pkey FROM {log} WHERE vkey = {version_key}");
            let keys = self.ask_beside(&query)?.first_column();
            if !keys.is_empty() {
                return Ok(Some(Filled {
                    log,
                    version_key,
                    keys,
                }));
            }
        }
        Ok(None)
    }
}

impl Filled {
    /// Puts rows like these in once more, under other keys.
    fn again(&self) -> String {
        let row = |key: &String| format!("({key} + 500000000, {})", self.version_key);
        let rows: Vec<String> = self.keys.iter().map(row).collect();
        let log = self.log;
        format!("INSERT INTO {log} (pkey, vkey) VALUES {}", rows.join(", "))
    }
}

/// The version key that a write gives its rows: the generator's begin at 1000.
fn version_key(sql: &str) -> Option<String> {
    let words = sql.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mut numbers = words.filter(|word| word.len() == 4 && word.starts_with('1'));
    let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    numbers.find(is_number).map(str::to_owned)
}
