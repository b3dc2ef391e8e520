//! TiDB: `information_schema.tidb_trx`, which does not name the holder of a lock. Versions before 5.1 show no waits.

use std::collections::BTreeMap;
use std::time::Duration;

use super::view::LockView;
use crate::dialect::ServerVersion;
use crate::engine::cell::number_of;
use crate::engine::error::EngineError;
use crate::engine::mysql_protocol::connection::MySqlSession;
use crate::engine::session::BareSession;

/// A transaction is in this state from its request for a lock until the answer, which is there at
/// once where the lock is free: only one that has been in it for 50 ms waits. TiDB manual, "TIDB_TRX".
/// With 5 ms a server short of processors was seen to call a transaction waiting that was not.
const WAITS: &str = "SELECT SESSION_ID FROM information_schema.TIDB_TRX \
                     WHERE STATE = 'LockWaiting' \
                     AND TIMESTAMPDIFF(MICROSECOND, WAITING_START_TIME, NOW(6)) > 50000";

/// As [`WAITS`] has it.
const SHOWN_AFTER: Duration = Duration::from_millis(50);

/// The first version with the table. TiDB manual, "TIDB_TRX".
const SHOWN_SINCE: [u32; 2] = [5, 1];

/// A statement of 4.0 answers within a few milliseconds where it does not wait.
const QUIET: Duration = Duration::from_millis(300);

pub(in crate::engine::mysql_protocol) struct TransactionStates {
    session: MySqlSession,
    /// Whether the server shows who waits.
    is_shown: bool,
}

impl TransactionStates {
    pub(in crate::engine::mysql_protocol) fn new(
        mut session: MySqlSession,
        version: &ServerVersion,
    ) -> Result<Self, EngineError> {
        let is_shown = *version >= ServerVersion(SHOWN_SINCE.to_vec());
        if is_shown {
            // Asked once now, so that a server that refuses it is told at the start.
            session.run(WAITS)?;
        }
        Ok(Self { session, is_shown })
    }
}

impl LockView for TransactionStates {
    fn session(&mut self) -> &mut MySqlSession {
        &mut self.session
    }

    fn row_waits(&mut self) -> Result<BTreeMap<u64, Vec<u64>>, EngineError> {
        if !self.is_shown {
            return Ok(BTreeMap::new());
        }
        let rows = self.session.rows(WAITS)?;
        let waiting = rows.iter().filter_map(|row| number_of(row.first()?));
        Ok(waiting.map(|id| (id, Vec::new())).collect())
    }

    fn shows_after(&self) -> Duration {
        SHOWN_AFTER
    }

    fn quiet_means_waiting(&self) -> Option<Duration> {
        (!self.is_shown).then_some(QUIET)
    }

    /// Only DDL waits for locks of metadata, and cases have none.
    fn metadata_waits(&mut self) -> Result<Vec<u64>, EngineError> {
        Ok(Vec::new())
    }
}
