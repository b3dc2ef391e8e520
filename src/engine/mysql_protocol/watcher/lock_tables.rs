//! MySQL 8 and later: the lock tables of the performance schema.
//!
//! `REQUESTING_THREAD_ID` is not trusted: it names the thread that last relocated the lock, so a
//! wait could be missed or laid on another session. Waits are matched by the engine's transaction
//! number, whose owner the *table* locks tell: those are made by their own thread and never move.

use std::collections::{BTreeMap, BTreeSet};

use super::view::LockView;
use crate::engine::cell::number_of;
use crate::engine::error::EngineError;
use crate::engine::mysql_protocol::connection::MySqlSession;
use crate::engine::session::BareSession;

const WAITS: &str = "SELECT REQUESTING_ENGINE_TRANSACTION_ID, BLOCKING_ENGINE_TRANSACTION_ID \
                     FROM performance_schema.data_lock_waits";
/// A lock is PENDING for a moment even when it is granted at once; the thread's state tells.
const METADATA_WAITS: &str = "SELECT t.PROCESSLIST_ID FROM performance_schema.metadata_locks l \
                              JOIN performance_schema.threads t ON t.THREAD_ID = l.OWNER_THREAD_ID \
                              WHERE l.LOCK_STATUS = 'PENDING' \
                              AND t.PROCESSLIST_STATE LIKE 'Waiting for %'";

/// Transaction numbers from here on are made up from an address, for transactions that have not
/// written yet. Another transaction may get the same one later.
const MADE_UP_FROM: u64 = 1 << 48;

/// How many transaction numbers are remembered before old ones are forgotten.
const REMEMBERED_MAX: usize = 4096;

pub(in crate::engine::mysql_protocol) struct LockTables {
    session: MySqlSession,
    /// Connections by real transaction number. Neither is ever used again.
    owners: BTreeMap<u64, u64>,
}

impl LockTables {
    pub(in crate::engine::mysql_protocol) fn new(
        mut session: MySqlSession,
    ) -> Result<Self, EngineError> {
        let grant = format!(
            "GRANT SELECT ON performance_schema.* TO {}",
            session.account()?
        );
        session.privileged(WAITS, &grant)?;
        session.privileged(METADATA_WAITS, &grant)?;
        Ok(Self {
            session,
            owners: BTreeMap::new(),
        })
    }

    fn owners_of(&mut self, numbers: &BTreeSet<u64>) -> Result<BTreeMap<u64, u64>, EngineError> {
        let unknown: Vec<String> = numbers
            .iter()
            .filter(|number| !self.owners.contains_key(number))
            .map(u64::to_string)
            .collect();
        let mut made_up = BTreeMap::new();
        if !unknown.is_empty() {
            let sql = format!(
                "SELECT l.ENGINE_TRANSACTION_ID, t.PROCESSLIST_ID \
                 FROM performance_schema.data_locks l \
                 JOIN performance_schema.threads t ON t.THREAD_ID = l.THREAD_ID \
                 WHERE l.LOCK_TYPE = 'TABLE' AND l.ENGINE_TRANSACTION_ID IN ({})",
                unknown.join(", ")
            );
            let rows = self.session.rows(&sql)?;
            for (number, connection) in pairs(&rows) {
                if number >= MADE_UP_FROM {
                    made_up.insert(number, connection);
                } else {
                    self.owners.insert(number, connection);
                }
            }
        }
        while self.owners.len() > REMEMBERED_MAX {
            self.owners.pop_first();
        }
        let known = numbers
            .iter()
            .filter_map(|number| Some((*number, *self.owners.get(number)?)));
        made_up.extend(known);
        Ok(made_up)
    }
}

impl LockView for LockTables {
    fn session(&mut self) -> &mut MySqlSession {
        &mut self.session
    }

    fn row_waits(&mut self) -> Result<BTreeMap<u64, Vec<u64>>, EngineError> {
        let waits: Vec<(u64, u64)> = pairs(&self.session.rows(WAITS)?).collect();
        if waits.is_empty() {
            return Ok(BTreeMap::new());
        }
        let numbers: BTreeSet<u64> = waits.iter().flat_map(|(a, b)| [*a, *b]).collect();
        let owners = self.owners_of(&numbers)?;
        // Between the two questions a made-up number may have passed to another transaction: it
        // counts only if it still waits after its owner was read.
        let is_made_up = waits.iter().any(|(number, _)| *number >= MADE_UP_FROM);
        let still: BTreeSet<u64> = if is_made_up {
            let rows = self.session.rows(WAITS)?;
            pairs(&rows).map(|(requesting, _)| requesting).collect()
        } else {
            BTreeSet::new()
        };
        let mut waiting: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (requesting, blocking) in waits {
            let Some(waiter) = owners.get(&requesting) else {
                continue;
            };
            if requesting >= MADE_UP_FROM && !still.contains(&requesting) {
                continue;
            }
            let waited_for = waiting.entry(*waiter).or_default();
            if let Some(holder) = owners.get(&blocking)
                && !waited_for.contains(holder)
            {
                waited_for.push(*holder);
            }
        }
        Ok(waiting)
    }

    fn metadata_waits(&mut self) -> Result<Vec<u64>, EngineError> {
        let rows = self.session.rows(METADATA_WAITS)?;
        Ok(rows
            .iter()
            .filter_map(|row| number_of(row.first()?))
            .collect())
    }
}

/// The first two cells of each row, as numbers.
fn pairs(rows: &[crate::model::Row]) -> impl Iterator<Item = (u64, u64)> + '_ {
    rows.iter()
        .filter_map(|row| Some((number_of(row.first()?)?, number_of(row.get(1)?)?)))
}
