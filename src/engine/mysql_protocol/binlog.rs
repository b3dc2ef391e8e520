//! MariaDB's binary log as a clock: global transaction ids number the commits, and a snapshot has
//! a place in the log.
//!
//! After START TRANSACTION WITH CONSISTENT SNAPSHOT the status `Binlog_snapshot_file` and
//! `_position` say what of the log the snapshot holds (MariaDB manual, "Enhancements for START
//! TRANSACTION WITH CONSISTENT SNAPSHOT"); after COMMIT `@@last_gtid` holds the number of the
//! commit. Places become numbers by the events of the log itself, read once from where the run
//! began: BINLOG_GTID_POS reads the log from its beginning at every call.

use std::collections::BTreeMap;

use super::connection::MySqlSession;
use crate::engine::access::Access;
use crate::engine::cell::{first_text, named_values, number_of, text_of};
use crate::engine::connection::Connection;
use crate::engine::error::EngineError;
use crate::engine::session::BareSession;
use crate::engine::timestamps::{Mark, Resolver, Timestamps};
use crate::model::{IsolationLevel, Outcome, Row};

/// How many events one question asks for.
const EVENTS_MAX: usize = 20_000;

/// The place of the session's snapshot; without one, that of the last commit.
const PLACE: &str = "SELECT VARIABLE_NAME, VARIABLE_VALUE \
    FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME LIKE 'BINLOG\\_SNAPSHOT\\_%'";
const BEGIN: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT";
/// The sessions of all runs on a server take turns by a lock of the server.
const TAKE_TURN: &str = "SELECT GET_LOCK('rashomon.binlog_snapshot', 60)";
const GIVE_TURN: &str = "SELECT RELEASE_LOCK('rashomon.binlog_snapshot')";
/// How many snapshots a session takes before it gives up. One suffices where nobody commits
/// meanwhile.
const SNAPSHOTS_MAX: usize = 1_000;

const LAST_GTID: &str = "SELECT @@last_gtid";

/// Timestamps by the binary log.
pub(super) struct BinlogTimestamps {
    access: Access,
}

impl BinlogTimestamps {
    pub(super) fn new(access: Access) -> Self {
        Self { access }
    }

    fn rejected(&self, sql: &str, message: &str) -> EngineError {
        EngineError::Rejected {
            engine: self.access.engine,
            sql: sql.to_owned(),
            message: message.to_owned(),
        }
    }

    /// An answer that is not what the manual says.
    fn strange(&self, sql: &str) -> EngineError {
        self.rejected(sql, "the answer is not understood")
    }

    fn rows(
        &self,
        connection: &mut dyn Connection,
        sql: &'static str,
    ) -> Result<Vec<Row>, EngineError> {
        match connection.execute(sql)? {
            Outcome::Rows(rows) => Ok(rows),
            Outcome::Affected(_) | Outcome::Rejected(_) => Err(self.strange(sql)),
        }
    }

    fn run(&self, connection: &mut dyn Connection, sql: &'static str) -> Result<(), EngineError> {
        match connection.execute(sql)? {
            Outcome::Affected(_) | Outcome::Rows(_) => Ok(()),
            Outcome::Rejected(error) => Err(self.rejected(sql, &error.message)),
        }
    }

    /// Takes snapshots until the place of one is certain, and leaves that one open. Each ends the
    /// transaction before it, which has done nothing.
    ///
    /// Whenever a session reads a status, the server copies the place of that session's snapshot
    /// into variables of the whole server and reads them from there without a lock
    /// (`TC_LOG_BINLOG::set_status_variables`). So a session may be answered with the place of
    /// whoever asks at the same time. Our own sessions take turns. A monitor has no snapshot, so
    /// what it leaves there is the last commit, which is the place that we ask for or a later one.
    /// An answer from before the snapshot was taken is never later than its place, whosever it was:
    /// when the one after is the same, the place lies between the two and is known. (That two
    /// answers after it agree does not suffice: on a busy machine 10.11.19 gave a monitor's place
    /// twice running in one of some 5,000 transactions.)
    fn snapshot(&self, connection: &mut dyn Connection) -> Result<Mark, EngineError> {
        let mut before = self.place(connection)?;
        for _ in 0..SNAPSHOTS_MAX {
            self.run(connection, BEGIN)?;
            let after = self.place(connection)?;
            if after == before {
                return Ok(after);
            }
            before = after;
        }
        let message = format!("somebody committed during each of {SNAPSHOTS_MAX} attempts");
        Err(self.rejected(BEGIN, &message))
    }

    /// One answer, which may be another session's.
    fn place(&self, connection: &mut dyn Connection) -> Result<Mark, EngineError> {
        let rows = self.rows(connection, PLACE)?;
        let status: BTreeMap<String, String> = named_values(&rows).collect();
        let log = status.get("BINLOG_SNAPSHOT_FILE");
        let position = status.get("BINLOG_SNAPSHOT_POSITION");
        let position = position.and_then(|text| text.parse().ok());
        match (log, position) {
            (Some(log), Some(position)) if !log.is_empty() => Ok(Mark {
                log: log.clone(),
                position,
            }),
            _ => Err(self.strange(PLACE)),
        }
    }
}

impl Timestamps for BinlogTimestamps {
    /// InnoDB takes the snapshot at once at this level only.
    fn level(&self) -> IsolationLevel {
        IsolationLevel::RepeatableRead
    }

    fn begin(&self, connection: &mut dyn Connection) -> Result<Mark, EngineError> {
        let taken = self.rows(connection, TAKE_TURN)?;
        if taken.first().and_then(|row| number_of(row.first()?)) != Some(1) {
            let message = "another session has held this lock for a minute";
            return Err(self.rejected(TAKE_TURN, message));
        }
        let mark = self.snapshot(connection);
        self.rows(connection, GIVE_TURN)?;
        mark
    }

    fn committed(&self, connection: &mut dyn Connection) -> Result<i64, EngineError> {
        let rows = self.rows(connection, LAST_GTID)?;
        first_text(&rows)
            .and_then(|text| sequence_number(&text))
            .ok_or_else(|| self.strange(LAST_GTID))
    }

    fn resolver(&self) -> Result<Box<dyn Resolver>, EngineError> {
        let mut session = MySqlSession::open(&self.access, None)?;
        let sql = "SHOW MASTER STATUS";
        let grant = "GRANT BINLOG MONITOR ON *.* TO {user}".replace("{user}", &session.account()?);
        let rows = session.privileged(sql, &grant)?;
        let place = rows
            .first()
            .and_then(|row| Some((text_of(row.first()?)?, number_of(row.get(1)?)?)));
        let Some((log, position)) = place else {
            return Err(self.strange(sql));
        };
        let sql = format!(
            "SELECT BINLOG_GTID_POS('{}', {position})",
            log.replace('\'', "''")
        );
        let before = session.rows(&sql)?;
        let before = first_text(&before);
        let mut resolver = BinlogResolver {
            session,
            grant,
            log,
            position,
            before: before.and_then(|text| sequence_number(&text)).unwrap_or(0),
            commits: BTreeMap::new(),
        };
        resolver.advance()?;
        Ok(Box::new(resolver))
    }
}

/// The sequence number of a global transaction id, `0-1-1234`: of the first, where several
/// domains have one each. Those that sessions write in by default are domain 0.
fn sequence_number(gtid: &str) -> Option<i64> {
    let first = gtid.split(',').next()?;
    let mut parts = first.trim().split('-');
    let (_domain, _server, number) = (parts.next()?, parts.next()?, parts.next()?);
    number.parse().ok()
}

/// Where the commits of the log are.
struct BinlogResolver {
    session: MySqlSession,
    /// The privilege that reading the log needs.
    grant: String,
    /// Which file is being read, and up to where it has been.
    log: String,
    position: u64,
    /// The number of the last commit before the first that was read.
    before: i64,
    /// By file: where each commit begins, and its number.
    commits: BTreeMap<String, Vec<(u64, i64)>>,
}

impl BinlogResolver {
    /// Takes one event in. True when the log goes on in another file.
    fn event(&mut self, row: &Row) -> Option<bool> {
        let [_, begin, kind, _, end, info] = row.get(..6)? else {
            return None;
        };
        let (begin, end) = (number_of(begin)?, number_of(end)?);
        let (kind, info) = (text_of(kind)?, text_of(info)?);
        match kind.as_str() {
            "Gtid" => {
                // `BEGIN GTID 0-1-7`, `GTID 0-1-7`, with more words after it.
                let mut words = info.split_whitespace().skip_while(|word| *word != "GTID");
                let number = words.nth(1).and_then(sequence_number)?;
                let commits = self.commits.entry(self.log.clone()).or_default();
                commits.push((begin, number));
            }
            "Rotate" => {
                let (log, _) = info.split_once(';')?;
                log.clone_into(&mut self.log);
                self.position = 4;
                return Some(true);
            }
            _ => {}
        }
        self.position = self.position.max(end);
        Some(false)
    }
}

impl Resolver for BinlogResolver {
    fn advance(&mut self) -> Result<(), EngineError> {
        loop {
            let sql = format!(
                "SHOW BINLOG EVENTS IN '{}' FROM {} LIMIT {EVENTS_MAX}",
                self.log.replace('\'', "''"),
                self.position
            );
            let rows = self.session.privileged(&sql, &self.grant)?;
            let mut rotated = false;
            for row in &rows {
                rotated = self.event(row).ok_or_else(|| EngineError::Rejected {
                    engine: self.session.engine(),
                    sql: sql.clone(),
                    message: "an event of the log is not understood".to_owned(),
                })?;
            }
            if !rotated && rows.len() < EVENTS_MAX {
                return Ok(());
            }
        }
    }

    fn resolve(&self, mark: &Mark) -> Option<i64> {
        if (&mark.log, mark.position) > (&self.log, self.position) {
            return None;
        }
        let within = self.commits.get(&mark.log).and_then(|commits| {
            let after = commits.partition_point(|(begin, _)| *begin < mark.position);
            commits.get(after.checked_sub(1)?)
        });
        let earlier = || {
            let files = self.commits.range(..mark.log.clone());
            files.rev().find_map(|(_, commits)| commits.last())
        };
        let last = within.or_else(earlier);
        Some(last.map_or(self.before, |(_, number)| *number))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::dialect::Dialect;
    use crate::engine::connection::TransactionState;
    use crate::engine::opening::OpenOptions;
    use crate::model::Value;

    /// A session whose answers are planned: the place that is answered at each question.
    struct Planned {
        places: VecDeque<u64>,
        /// The places that were answered before each snapshot.
        snapshots: Vec<u64>,
        last: u64,
        turns: i32,
    }

    impl Connection for Planned {
        fn id(&self) -> u64 {
            1
        }

        fn execute(&mut self, sql: &str) -> Result<Outcome, EngineError> {
            assert!(sql == TAKE_TURN || self.turns == 1, "out of turn: {sql}");
            let number = |number| Ok(Outcome::Rows(vec![vec![Value::Integer(number)]]));
            match sql {
                TAKE_TURN => {
                    self.turns += 1;
                    number(1)
                }
                GIVE_TURN => {
                    self.turns -= 1;
                    number(1)
                }
                BEGIN => {
                    self.snapshots.push(self.last);
                    Ok(Outcome::Affected(0))
                }
                PLACE => {
                    self.last = self.places.pop_front().expect("no question more");
                    let row = |name: &str, value: &str| vec![text(name), text(value)];
                    let position = self.last.to_string();
                    Ok(Outcome::Rows(vec![
                        row("BINLOG_SNAPSHOT_FILE", "log.000001"),
                        row("BINLOG_SNAPSHOT_POSITION", &position),
                    ]))
                }
                other => panic!("nobody asks for {other}"),
            }
        }

        fn transaction_state(&mut self) -> Result<TransactionState, EngineError> {
            Ok(TransactionState::Open)
        }

        fn dialect(&self) -> &Dialect {
            panic!("nobody asks for the dialect")
        }
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    /// The place of a session that is answered these places, and after which ones it took
    /// snapshots.
    fn place_among(places: &[u64]) -> (u64, Vec<u64>) {
        let target = "mariadb://root@127.0.0.1:3306".parse().expect("a URL");
        let access = Access::new("mariadb", &target, &OpenOptions::default());
        let mut session = Planned {
            places: places.iter().copied().collect(),
            snapshots: Vec::new(),
            last: 0,
            turns: 0,
        };
        let mark = BinlogTimestamps::new(access).begin(&mut session);
        assert_eq!(session.turns, 0);
        assert!(session.places.is_empty());
        (mark.expect("a place").position, session.snapshots)
    }

    #[test]
    fn a_place_counts_when_it_is_the_last_commit_before_the_snapshot() {
        assert_eq!(place_among(&[100, 100]), (100, vec![100]));
    }

    /// The snapshot is at 100, and a monitor's place comes twice running.
    #[test]
    fn a_place_that_a_monitor_left_does_not_count() {
        assert_eq!(
            place_among(&[100, 200, 200]),
            (200, vec![100, 200]),
            "another snapshot is taken, which is at 200"
        );
        assert_eq!(place_among(&[100, 200, 300, 300]).1, [100, 200, 300]);
    }

    #[test]
    fn a_global_transaction_id_ends_with_its_number() {
        assert_eq!(sequence_number("0-1-1234"), Some(1234));
        assert_eq!(sequence_number("0-1-7,1-1-9"), Some(7));
        assert_eq!(sequence_number(""), None);
        assert_eq!(sequence_number("0-1"), None);
    }
}
