//! Faults of what a transaction finds of its own writes.

use std::io;

use super::answer::{Refusal, WireAnswer};
use super::clauses::{RowsFound, Subquery};
use super::conversation::Conversation;
use super::text::{
    WriteByPredicate, is_plain_read, without_lock_clause, without_order, write_kind,
};

/// Whether the first column of a SELECT over one table is the row key.
fn begins_with_the_key(sql: &str) -> bool {
    let first = sql.get("SELECT ".len()..).unwrap_or_default();
    let first = first.split([',', ' ']).next().unwrap_or_default();
    RowsFound::of(sql).is_some() && (first == "*" || first.ends_with("pkey"))
}

impl Conversation {
    /// The answer to a plain read of rows by their key, and what is committed beside the transaction, which has written.
    fn own_beside_committed(
        &mut self,
        sql: &str,
        spoil: impl FnOnce(&mut Vec<(String, Vec<u8>)>, &[(String, Vec<u8>)]),
    ) -> io::Result<WireAnswer> {
        let mut own = self.ask(sql)?;
        let transaction = &self.transaction;
        let wrote = transaction.is_open && transaction.done.writes > 0;
        let fits = is_plain_read(sql) && begins_with_the_key(sql);
        if !wrote || !fits || own.error().is_some() {
            return Ok(own);
        }
        let committed = self.ask_beside(sql)?;
        let keyed = |answer: &WireAnswer| -> Vec<(String, Vec<u8>)> {
            let keys = answer.first_column();
            keys.into_iter().zip(answer.rows.iter().cloned()).collect()
        };
        let mut rows = keyed(&own);
        if committed.error().is_some() || rows.len() != own.rows.len() {
            return Ok(own);
        }
        spoil(&mut rows, &keyed(&committed));
        let rows: Vec<Vec<u8>> = rows.into_iter().map(|(_, row)| row).collect();
        if rows != own.rows && self.plot.is_due(sql) {
            own.rows = rows;
        }
        Ok(own)
    }

    pub(super) fn own_insert_invisible(&mut self, sql: &str) -> io::Result<WireAnswer> {
        self.own_beside_committed(sql, |own, committed| {
            own.retain(|(key, _)| committed.iter().any(|(other, _)| other == key));
        })
    }

    pub(super) fn own_delete_visible(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let is_sorted = without_order(sql).is_some();
        self.own_beside_committed(sql, |own, committed| {
            let gone = committed
                .iter()
                .filter(|(key, _)| !is_sorted && !own.iter().any(|(other, _)| other == key));
            let gone: Vec<_> = gone.cloned().collect();
            own.extend(gone);
        })
    }

    pub(super) fn own_update_invisible(&mut self, sql: &str) -> io::Result<WireAnswer> {
        self.own_beside_committed(sql, |own, committed| {
            for (key, row) in own {
                if let Some((_, old)) = committed.iter().find(|(other, _)| other == key) {
                    row.clone_from(old);
                }
            }
        })
    }

    pub(super) fn locking_read_misses_own(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let wrote = self.transaction.is_open && self.transaction.done.writes > 0;
        match without_lock_clause(sql) {
            Some(plain) if wrote && answer.error().is_none() => {
                let committed = self.ask_beside(&plain)?;
                if committed.rows == answer.rows || !self.plot.is_due(sql) {
                    return Ok(answer);
                }
                Ok(committed.in_transaction(answer.in_transaction))
            }
            Some(_) | None => Ok(answer),
        }
    }

    pub(super) fn write_misses_own(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let wrote = self.transaction.is_open && self.transaction.done.writes > 0;
        let write = WriteByPredicate::of(sql).filter(|_| wrote && !self.transaction.is_read_only);
        let Some((write, keys)) = write.and_then(|write| write.keys().map(|keys| (write, keys)))
        else {
            return self.ask(sql);
        };
        let committed = self.ask_beside(&keys)?;
        let own = self.ask_guarded(&format!("{keys} FOR UPDATE"))?;
        if own.error() == Some(Refusal::Deadlock) {
            return Ok(own);
        }
        if own.error().is_some() || committed.error().is_some() {
            self.forgive()?;
            return self.ask(sql);
        }
        let (mut keys, committed) = (own.first_column(), committed.first_column());
        let all = keys.len();
        keys.retain(|key| committed.contains(key));
        if keys.len() == all || !self.plot.is_due(sql) {
            return self.ask(sql);
        }
        self.ask(&write.of_keys(&keys))
    }

    /// The UPDATE of one row that the transaction has written: its values are worked out of what is committed.
    pub(super) fn update_misses_own(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let wrote = self.transaction.is_open && self.transaction.done.writes > 0;
        let Some(query) = self.worked_out(sql).filter(|_| wrote) else {
            return self.ask(sql);
        };
        let (old, new) = (self.ask_beside(&query)?, self.ask_guarded(&query)?);
        if new.error().is_some() {
            self.forgive()?;
            return self.ask(sql);
        }
        let (old, new) = (old.first_column(), new.first_column());
        match (old.as_slice(), new.as_slice()) {
            ([old], [new]) if old != new && self.plot.is_due(sql) => self.ask(old),
            _ => self.ask(sql),
        }
    }

    pub(super) fn subquery_misses_own(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let wrote = self.transaction.is_open && self.transaction.done.writes > 0;
        let fits = write_kind(sql).is_some() || is_plain_read(sql);
        if !wrote || !fits || self.is_guarded() || Subquery::all_of(sql).is_empty() {
            return self.ask(sql);
        }
        self.ask_with_subquery_of(sql, Self::ask_beside, Some(Self::ask))
    }
}
