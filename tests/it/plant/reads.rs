//! Faults of reads.

use std::io;

use super::answer::{Product, Refusal, WireAnswer};
use super::conversation::Conversation;
use super::text::{is_plain_read, without_lock_clause, without_order};

impl Conversation {
    /// The answer to a plain read in a transaction, spoilt; every other statement's as it is.
    pub(super) fn spoilt_read(
        &mut self,
        sql: &str,
        spoilt: impl FnOnce(&mut Self) -> io::Result<WireAnswer>,
    ) -> io::Result<WireAnswer> {
        if is_plain_read(sql) && self.transaction.is_open {
            return spoilt(self);
        }
        self.ask(sql)
    }

    pub(super) fn unsorted(&mut self, sql: &str) -> io::Result<WireAnswer> {
        match without_order(sql) {
            Some(unsorted) if self.plot.is_due(sql) => self.ask(&unsorted),
            Some(_) | None => self.ask(sql),
        }
    }

    pub(super) fn with_rows_swapped(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let is_sorted = without_order(sql).is_some();
        if is_sorted && answer.rows.len() > 1 && self.plot.is_due(sql) {
            return Ok(answer.with_rows_swapped());
        }
        Ok(answer)
    }

    pub(super) fn key_share_is_exclusive(&mut self, sql: &str) -> io::Result<WireAnswer> {
        match sql.strip_suffix(" FOR KEY SHARE") {
            Some(plain) if self.plot.is_due(sql) => self.ask(&format!("{plain} FOR UPDATE")),
            Some(_) | None => self.ask(sql),
        }
    }

    pub(super) fn with_last_row(&mut self, sql: &str, times: usize) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        if answer.has_rows() && self.plot.is_due(sql) {
            return Ok(answer.with_last_row(times));
        }
        Ok(answer)
    }

    /// Reads on another connection, where the transaction has written, or where it has not, if that is asked
    /// for. Reads in the session, too: its snapshot is taken as it would be.
    pub(super) fn read_beside(
        &mut self,
        sql: &str,
        level: &str,
        wrote: Option<bool>,
    ) -> io::Result<WireAnswer> {
        let own = self.ask(sql)?;
        let has_written = self.transaction.has_written;
        let fits = wrote.is_none_or(|wrote| wrote == has_written);
        if own.error().is_some() || !fits || !self.plot.is_due(sql) {
            return Ok(own);
        }
        let answer = self.ask_beside_at(level, sql)?;
        Ok(answer.in_transaction(own.in_transaction))
    }

    pub(super) fn lone_read_misses_row(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let is_of_a_case = is_plain_read(sql) && self.is_session_of_case;
        if is_of_a_case && !self.transaction.is_open {
            return self.with_last_row(sql, 0);
        }
        self.ask(sql)
    }

    pub(super) fn repeated_read_is_stale(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        if !is_plain_read(sql) || !self.transaction.is_open || answer.error().is_some() {
            return Ok(answer);
        }
        let first = self.transaction.answers.entry(sql.to_owned());
        let first = first.or_insert_with(|| answer.clone()).clone();
        Ok(if self.plot.is_due(sql) { first } else { answer })
    }

    pub(super) fn locking_read_of_snapshot(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        match without_lock_clause(sql) {
            Some(plain) if answer.error().is_none() && self.plot.is_due(sql) => self.ask(&plain),
            Some(_) | None => Ok(answer),
        }
    }

    /// Takes the snapshot first, as the read itself would, and gives its answer.
    pub(super) fn plain_read_waits(&mut self, sql: &str) -> io::Result<WireAnswer> {
        self.spoilt_read(sql, |this| {
            let answer = this.ask(sql)?;
            if answer.error().is_none() && this.plot.is_due(sql) {
                let clause = match this.product() {
                    Product::Postgres => "FOR SHARE",
                    Product::MariaDb | Product::MySql => "LOCK IN SHARE MODE",
                };
                return this.aside(Some(format!("{sql} {clause}")), answer);
            }
            Ok(answer)
        })
    }

    pub(super) fn with_changed_value(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        match answer.with_changed_value() {
            Some(changed) if self.plot.is_due(sql) => Ok(changed),
            Some(_) | None => Ok(answer),
        }
    }

    pub(super) fn for_update_is_shared(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let shared = if self.product() == Product::MariaDb {
            "LOCK IN SHARE MODE"
        } else {
            "FOR SHARE"
        };
        let plain = without_lock_clause(sql);
        let rest = plain.and_then(|plain| {
            let clause = sql[plain.len()..].trim_start();
            let rest = clause.strip_prefix("FOR UPDATE")?;
            Some(format!("{plain} {shared}{rest}"))
        });
        match rest {
            Some(weaker) if self.plot.is_due(sql) => self.ask(&weaker),
            Some(_) | None => self.ask(sql),
        }
    }

    pub(super) fn skip_locked_skips_none(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let plain = without_lock_clause(sql).filter(|_| sql.ends_with(" SKIP LOCKED"));
        match plain {
            Some(plain) if answer.error().is_none() && self.plot.is_due(sql) => {
                let all = self.ask_beside(&plain)?;
                Ok(all.in_transaction(answer.in_transaction))
            }
            Some(_) | None => Ok(answer),
        }
    }

    pub(super) fn shared_is_exclusive(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let clauses = [" LOCK IN SHARE MODE", " FOR SHARE"];
        let plain = clauses.iter().find_map(|clause| sql.strip_suffix(clause));
        match plain {
            Some(plain) if self.plot.is_due(sql) => self.ask(&format!("{plain} FOR UPDATE")),
            Some(_) | None => self.ask(sql),
        }
    }

    /// Sends a locking read without the clause that keeps it from waiting.
    pub(super) fn waits_in_spite_of(&mut self, sql: &str, clause: &str) -> io::Result<WireAnswer> {
        match sql.strip_suffix(clause) {
            Some(waiting) if self.plot.is_due(sql) => self.ask(waiting),
            Some(_) | None => self.ask(sql),
        }
    }

    pub(super) fn skip_locked_skips_one(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if sql.ends_with(" SKIP LOCKED") {
            return self.with_last_row(sql, 0);
        }
        self.ask(sql)
    }

    pub(super) fn nowait_refused(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let is_nowait = without_lock_clause(sql).is_some() && sql.ends_with(" NOWAIT");
        if is_nowait && answer.has_rows() && self.plot.is_due(sql) {
            return self.refuse(Refusal::LockedNowait);
        }
        Ok(answer)
    }

    pub(super) fn nowait_passes(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let plain = without_lock_clause(sql).filter(|_| sql.ends_with(" NOWAIT"));
        if plain.is_none() {
            return self.ask(sql);
        }
        let answer = self.ask_guarded(sql)?;
        match (plain, answer.error()) {
            (Some(plain), Some(Refusal::LockTimeout | Refusal::LockedNowait))
                if self.plot.is_due(sql) =>
            {
                self.forgive()?;
                let open = self.transaction.is_open;
                Ok(self.ask_beside(&plain)?.in_transaction(Some(open)))
            }
            _ => Ok(answer),
        }
    }

    pub(super) fn skip_locked_skips_all(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        if sql.ends_with(" SKIP LOCKED") && answer.has_rows() && self.plot.is_due(sql) {
            return Ok(answer.without_rows());
        }
        Ok(answer)
    }
}
