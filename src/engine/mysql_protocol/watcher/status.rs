//! MariaDB, and MySQL before 8: `SHOW ENGINE INNODB STATUS`, and the process list for metadata
//! locks. The text does not name the holder of a lock.

use std::collections::BTreeMap;

use super::view::LockView;
use crate::engine::cell::{number_of, text_of};
use crate::engine::error::EngineError;
use crate::engine::mysql_protocol::connection::MySqlSession;
use crate::engine::session::BareSession;

const STATUS: &str = "SHOW ENGINE INNODB STATUS";
const PROCESSES: &str = "SHOW PROCESSLIST";

/// How often the status is asked again when it was cut before its end.
const ATTEMPTS: u32 = 3;

pub(in crate::engine::mysql_protocol) struct InnodbStatus {
    session: MySqlSession,
}

impl InnodbStatus {
    pub(in crate::engine::mysql_protocol) fn new(
        mut session: MySqlSession,
    ) -> Result<Self, EngineError> {
        // Asked once now, so that a missing privilege shows at the start.
        let grant = format!("GRANT PROCESS ON *.* TO {}", session.account()?);
        session.privileged(STATUS, &grant)?;
        Ok(Self { session })
    }
}

impl LockView for InnodbStatus {
    fn session(&mut self) -> &mut MySqlSession {
        &mut self.session
    }

    fn row_waits(&mut self) -> Result<BTreeMap<u64, Vec<u64>>, EngineError> {
        for _ in 0..ATTEMPTS {
            let rows = self.session.rows(STATUS)?;
            let text = rows.first().and_then(|row| row.get(2)).and_then(text_of);
            if let Some(waiting) = text.as_deref().and_then(lock_waits) {
                return Ok(waiting.into_iter().map(|id| (id, Vec::new())).collect());
            }
        }
        Ok(BTreeMap::new())
    }

    fn metadata_waits(&mut self) -> Result<Vec<u64>, EngineError> {
        let rows = self.session.rows(PROCESSES)?;
        Ok(rows
            .iter()
            .filter(|row| {
                row.get(6)
                    .and_then(text_of)
                    .is_some_and(|s| is_lock_state(&s))
            })
            .filter_map(|row| number_of(row.first()?))
            .collect())
    }
}

/// The states of the process list that mean a wait for a lock of the server, not of InnoDB.
fn is_lock_state(state: &str) -> bool {
    state.starts_with("Waiting for") && (state.ends_with("lock") || state.ends_with("flush"))
}

/// The connections whose transactions wait for a lock, from the section TRANSACTIONS. None when
/// the text was cut before that section ended, or lock information was left out.
///
/// Lines that look alike stand in the section about the latest deadlock, and may stand in the
/// statements that are quoted: a block begins with `---TRANSACTION`, and what counts in it comes
/// before the line of the thread.
fn lock_waits(text: &str) -> Option<Vec<u64>> {
    let mut lines = text.lines().skip_while(|line| *line != "TRANSACTIONS");
    lines.next()?;
    let mut waiting = Vec::new();
    // Of the block we are in: whether it waits. None outside of a block, and after its thread.
    let mut block: Option<bool> = None;
    for line in lines {
        if line == "FILE I/O" || line.starts_with("END OF INNODB MONITOR OUTPUT") {
            return Some(waiting);
        }
        if line.starts_with("---TRANSACTION ") {
            block = Some(false);
        } else if let Some(waits) = block.as_mut() {
            if line.starts_with("LOCK WAIT ") {
                *waits = true;
            } else if let Some(id) = thread_id(line) {
                waiting.extend(waits.then_some(id));
                block = None;
            }
        }
    }
    None
}

/// `MariaDB thread id 12, OS thread handle ...`, `MySQL thread id 12, ...`.
fn thread_id(line: &str) -> Option<u64> {
    let rest = line
        .strip_prefix("MariaDB thread id ")
        .or_else(|| line.strip_prefix("MySQL thread id "))?;
    rest.split(',').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
LATEST DETECTED DEADLOCK
------------------------
*** (1) TRANSACTION:
TRANSACTION 90, ACTIVE 0 sec starting index read
LOCK WAIT 3 lock struct(s), heap size 1128, 2 row lock(s)
MariaDB thread id 90, OS thread handle 1, query id 5 localhost root Updating
------------
TRANSACTIONS
------------
Trx id counter 100
LIST OF TRANSACTIONS FOR EACH SESSION:
---TRANSACTION 99, ACTIVE 0 sec starting index read
mysql tables in use 1, locked 1
LOCK WAIT 2 lock struct(s), heap size 1128, 1 row lock(s)
MariaDB thread id 12, OS thread handle 1, query id 77 localhost root Updating
UPDATE t SET a = '
LOCK WAIT 2 lock struct(s)
MySQL thread id 13, '
------- TRX HAS BEEN WAITING 1200 us FOR THIS LOCK TO BE GRANTED:
---TRANSACTION 98, ACTIVE 0 sec
2 lock struct(s), heap size 1128, 1 row lock(s), undo log entries 1
MariaDB thread id 11, OS thread handle 1, query id 76 localhost root
--------
FILE I/O
--------
";

    #[test]
    fn only_blocks_of_the_transactions_section_count() {
        assert_eq!(lock_waits(TEXT), Some(vec![12]));
    }

    #[test]
    fn a_text_that_was_cut_says_nothing() {
        let cut = &TEXT[..TEXT.find("FILE I/O").expect("the section")];
        assert_eq!(lock_waits(cut), None);
        assert_eq!(lock_waits("Trx id counter 100"), None);
    }

    #[test]
    fn states_of_the_process_list() {
        for state in [
            "Waiting for table metadata lock",
            "Waiting for backup lock",
            "Waiting for table flush",
        ] {
            assert!(is_lock_state(state), "{state}");
        }
        for state in ["update", "Waiting for next activation", "Updating", ""] {
            assert!(!is_lock_state(state), "{state}");
        }
    }
}
