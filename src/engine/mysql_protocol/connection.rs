//! A bare connection.

use std::io;
use std::time::{Duration, Instant};

use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable;
use mysql::session_state_change::SessionStateChange;
use mysql::{Conn, OptsBuilder};

use super::{failure, value};
use crate::engine::access::Access;
use crate::engine::cell::{first_text, number_of};
use crate::engine::connection::TransactionState;
use crate::engine::error::EngineError;
use crate::engine::session::{BareSession, Fitness, missing_privilege, rows_of};
use crate::engine::target::Password;
use crate::model::{Outcome, Row, SqlError};

/// The largest packet we send or take, in bytes. Stated, so that the driver need not ask.
const PACKET_BYTES_MAX: usize = 64 << 20;

/// Access denied to a database, to a command, to a table; a privilege is needed.
const PRIVILEGE: [&str; 4] = ["1044", "1045", "1142", "1227"];

/// `ER_CANT_CHANGE_TX_CHARACTERISTICS`.
const IN_TRANSACTION: &str = "1568";

/// `ER_UNKNOWN_SYSTEM_VARIABLE`.
const UNKNOWN_VARIABLE: &str = "1193";

/// The isolation level, before MySQL 5.7.20 and MariaDB 11.1.
const OLD_LEVEL_VARIABLE: &str = "tx_isolation";

/// Makes the server say with an answer how it changed the state of the transaction: MySQL 5.7.8 and
/// MariaDB 10.2 and later.
const TRACK_TRANSACTIONS: &str = "SET SESSION session_track_transaction_info = 'STATE'";

/// How the server writes that no transaction is open; an explicit one is `T`, an implicit one `I`.
const NO_TRANSACTION: u8 = b'_';

/// `ER_NO_SUCH_THREAD`.
const NO_SUCH_THREAD: &str = "1094";

/// How a session learns whether a transaction is open, without a table and without a change.
#[derive(Clone, Copy, Debug)]
pub(super) enum StateQuestion {
    /// To set the level of the next transaction, here to that of the session, is refused, with a number
    /// of its own, exactly while one is open.
    SetLevel,
    /// A query whose one number is 0 exactly while none is open.
    Number(&'static str),
}

/// The modes in which a server takes no writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadOnlyModes {
    /// The variables that turn them on.
    pub(super) variables: &'static [&'static str],
    /// The statement that ends them all.
    pub(super) end: &'static str,
}

impl ReadOnlyModes {
    /// Those of MySQL and MariaDB; `super_read_only` falls with `read_only`.
    pub(super) const READ_ONLY: Self = Self {
        variables: &["read_only", "super_read_only"],
        end: "SET GLOBAL read_only = OFF",
    };
}

/// A connection whose answers are not classified: what the guard and the watchers use.
pub(in crate::engine) struct MySqlSession {
    raw: Conn,
    access: Access,
    fitness: Fitness,
    /// The variable that holds the isolation level; the newer name until the server does not know it.
    level_variable: &'static str,
    state_question: StateQuestion,
    read_only: ReadOnlyModes,
    /// The answer to the last statement said that it left no transaction open.
    ended_transaction: bool,
    /// The last insert id of the answer to the last statement.
    counted: Option<i64>,
}

impl MySqlSession {
    /// Connects. The URL's socket, where it names one, is preferred to its host.
    pub(super) fn open(access: &Access, database: Option<&str>) -> Result<Self, EngineError> {
        let target = &access.target;
        let port = target.port().unwrap_or(3306);
        let address = match target.parameter("socket") {
            Some(socket) => socket.to_owned(),
            None => format!("{}:{port}", target.host()),
        };
        let options = OptsBuilder::new()
            .ip_or_hostname(Some(target.host()))
            .tcp_port(port)
            .socket(target.parameter("socket"))
            .prefer_socket(false)
            .user(target.user())
            .pass(access.password.as_ref().map(Password::reveal))
            .db_name(database)
            .tcp_connect_timeout(Some(access.deadline))
            .read_timeout(Some(access.deadline))
            .write_timeout(Some(access.deadline))
            .tcp_nodelay(true)
            .max_allowed_packet(Some(PACKET_BYTES_MAX))
            .additional_capabilities(CapabilityFlags::CLIENT_SESSION_TRACK)
            .stmt_cache_size(Some(0));
        let raw =
            Conn::new(options).map_err(|error| failure::of_connect(access, address, error))?;
        Ok(Self {
            raw,
            access: access.clone(),
            fitness: Fitness::default(),
            level_variable: "transaction_isolation",
            state_question: StateQuestion::SetLevel,
            read_only: ReadOnlyModes::READ_ONLY,
            ended_transaction: false,
            counted: None,
        })
    }

    /// Which question [`BareSession::transaction_state`] asks, and what ends the read-only modes of
    /// the server.
    pub(super) fn adapt_to(&mut self, state_question: StateQuestion, read_only: ReadOnlyModes) {
        self.state_question = state_question;
        self.read_only = read_only;
    }

    /// Has the server say with its answers how the state of the transaction changes. A server that
    /// does not know how is asked instead.
    pub(super) fn track_transactions(&mut self) -> Result<(), EngineError> {
        match self.send(TRACK_TRANSACTIONS)? {
            Outcome::Rejected(error) if error.code == UNKNOWN_VARIABLE => Ok(()),
            outcome @ (Outcome::Rows(_) | Outcome::Affected(_) | Outcome::Rejected(_)) => {
                rows_of(self.access.engine, TRACK_TRANSACTIONS, outcome).map(drop)
            }
        }
    }

    /// The account the server logged us in as, quoted for a GRANT.
    pub(super) fn account(&mut self) -> Result<String, EngineError> {
        let rows = self.rows("SELECT CURRENT_USER()")?;
        let account = first_text(&rows).unwrap_or_default();
        let (user, host) = account.rsplit_once('@').unwrap_or((account.as_str(), "%"));
        Ok(format!(
            "'{}'@'{}'",
            user.replace('\'', "''"),
            host.replace('\'', "''")
        ))
    }

    /// Sends a statement of ours that needs a privilege; its absence names the GRANT, and a
    /// read-only mode the statement that ends it.
    pub(super) fn privileged(&mut self, sql: &str, grant: &str) -> Result<Vec<Row>, EngineError> {
        match self.send(sql)? {
            Outcome::Rejected(error) if PRIVILEGE.contains(&error.code.as_str()) => {
                Err(missing_privilege(&error, grant))
            }
            Outcome::Rejected(error) if is_read_only(&error) => Err(EngineError::ReadOnly {
                cause: format!("{} {}", error.code, error.message),
                remedy: self.read_only.end.to_owned(),
            }),
            outcome @ (Outcome::Rows(_) | Outcome::Affected(_) | Outcome::Rejected(_)) => {
                rows_of(self.access.engine, sql, outcome)
            }
        }
    }

    /// Ends another connection. One that is gone already needs no ending.
    pub(super) fn kill(&mut self, connection: u64) -> Result<(), EngineError> {
        let sql = format!("KILL {connection}");
        match self.send(&sql)? {
            Outcome::Rejected(error) if error.code == NO_SUCH_THREAD => Ok(()),
            outcome @ (Outcome::Rows(_) | Outcome::Affected(_) | Outcome::Rejected(_)) => {
                rows_of(self.access.engine, &sql, outcome).map(drop)
            }
        }
    }
}

impl BareSession for MySqlSession {
    fn engine(&self) -> &'static str {
        self.access.engine
    }

    fn id(&self) -> u64 {
        u64::from(self.raw.connection_id())
    }

    fn send(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        self.fitness.check(self.access.engine, sql)?;
        self.ended_transaction = false;
        self.counted = None;
        match read_answer(&mut self.raw, sql, self.access.deadline) {
            Ok(outcome) => {
                self.ended_transaction = says_that_none_is_open(&self.raw);
                let id = self.raw.last_insert_id();
                self.counted = i64::try_from(id).ok().filter(|id| *id != 0);
                Ok(outcome)
            }
            Err(error) => {
                let failure = failure::of_statement(&self.access, sql, error);
                self.fitness.judge(failure)
            }
        }
    }

    fn ended_transaction(&self) -> bool {
        self.ended_transaction
    }

    fn counted(&self) -> Option<i64> {
        self.counted
    }

    fn transaction_state(&mut self) -> Result<TransactionState, EngineError> {
        if let StateQuestion::Number(sql) = self.state_question {
            let rows = self.rows(sql)?;
            let number = rows.first().and_then(|row| number_of(row.first()?));
            return match number {
                Some(0) => Ok(TransactionState::None),
                Some(_) => Ok(TransactionState::Open),
                None => Err(EngineError::Rejected {
                    engine: self.access.engine,
                    sql: sql.to_owned(),
                    message: "the answer is no number".to_owned(),
                }),
            };
        }
        let level = self.level_variable;
        let sql = format!("SET @@{level} = @@SESSION.{level}");
        match self.send(&sql)? {
            Outcome::Rejected(error) if error.code == IN_TRANSACTION => Ok(TransactionState::Open),
            Outcome::Rejected(error)
                if error.code == UNKNOWN_VARIABLE && level != OLD_LEVEL_VARIABLE =>
            {
                self.level_variable = OLD_LEVEL_VARIABLE;
                self.transaction_state()
            }
            outcome @ (Outcome::Rows(_) | Outcome::Affected(_) | Outcome::Rejected(_)) => {
                rows_of(self.access.engine, &sql, outcome).map(|_| TransactionState::None)
            }
        }
    }
}

/// The server is in a read-only mode: `ER_OPTION_PREVENTS_STATEMENT` stands for other options, too.
fn is_read_only(error: &SqlError) -> bool {
    let names_mode = || {
        let message = error.message.to_ascii_lowercase();
        message.contains("read-only") || message.contains("read_only")
    };
    error.code == "1836" || (error.code == "1290" && names_mode())
}

/// Whether the last packet of an answer carries a change of the transaction's state, to none. An
/// answer without that, or one that cannot be read, says nothing.
fn says_that_none_is_open(raw: &Conn) -> bool {
    let changes = raw.session_state_changes().unwrap_or_default();
    let mut states = changes.iter().filter_map(|change| match change.decode() {
        Ok(SessionStateChange::TransactionState(state)) => {
            Some(state.as_bytes().first() == Some(&NO_TRANSACTION))
        }
        _ => None,
    });
    states.next_back() == Some(true)
}

/// Reads the whole answer. Of several result sets, which only a procedure gives, the first counts.
///
/// The socket's deadline begins anew with each packet; rows that come for ever end at the deadline, too.
fn read_answer(raw: &mut Conn, sql: &str, deadline: Duration) -> Result<Outcome, mysql::Error> {
    let began = Instant::now();
    let mut answer = raw.query_iter(sql)?;
    let affected = answer.affected_rows();
    let mut outcome = None;
    loop {
        let Some(mut set) = answer.iter() else {
            break;
        };
        let has_columns = !set.columns().as_ref().is_empty();
        let mut rows = Vec::new();
        while let Some(row) = set.next() {
            rows.push(value::typed_row(row?));
            if began.elapsed() > deadline {
                // Each would read the rest when it is dropped. The connection is given up.
                std::mem::forget(set);
                std::mem::forget(answer);
                return Err(io::Error::from(io::ErrorKind::TimedOut).into());
            }
        }
        outcome.get_or_insert(if has_columns {
            Outcome::Rows(rows)
        } else {
            Outcome::Affected(affected)
        });
    }
    Ok(outcome.unwrap_or(Outcome::Affected(affected)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ErrorClass;

    #[test]
    fn a_read_only_mode_is_told_from_other_options() {
        let is_read_only = |code: &str, message: &str| {
            is_read_only(&SqlError {
                code: code.to_owned(),
                class: ErrorClass::Other,
                message: message.to_owned(),
            })
        };
        let running = "The server is running with the";
        assert!(is_read_only(
            "1290",
            &format!("{running} --read-only option")
        ));
        assert!(is_read_only(
            "1290",
            &format!("{running} --super-read-only option")
        ));
        assert!(is_read_only("1836", "Running in read-only mode"));
        assert!(!is_read_only(
            "1290",
            &format!("{running} --secure-file-priv option")
        ));
        assert!(!is_read_only("1044", "Access denied to read_only"));
    }
}
