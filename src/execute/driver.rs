//! The driver: connections that live as long as the campaign, and cases run on them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dialect::{Dialect, ObserverKind};
use crate::engine::{Connection, EngineError, Server, Watcher, require_cases};
use crate::model::{
    CaseStatement, ErrorClass, Execution, IsolationLevel, Row, ServerCrash, StatementKind,
    TestCase, UndecidedReason,
};
use crate::statement;

use super::contents_left::{ContentsLeft, EndOfRun, contents_at_end, soils_the_schema};
use super::crashed::{self, CrashedRun};
use super::hand::Hand;
use super::index_check;
use super::record::Record;
use super::recording::{ConnectionRole, Recording, SentLog};
use super::restart::RestartCommand;
use super::room::{Emptying, Room, Schema};
use super::run::{Crash, InterleavedRun, RunConnections};
use super::scheduled_statement::ScheduledStatement;
use super::serial::ServerSerialRun;
use super::sessions::SessionConnections;
use super::table_check::EngineCheck;
use super::{Executor, Instrumentation, Interrupted, SerialRun, no_restart_command};

/// Runs cases on one server, in two databases of its own.
///
/// Connections are opened when first needed and kept. After an error all of them are closed, and
/// the next case, or [`Driver::reconnect`], opens new ones.
pub struct Driver<'s> {
    server: &'s dyn Server,
    /// The server's, shared with the evidence of every run.
    dialect: Arc<Dialect>,
    /// Where cases run.
    room: Room,
    /// Where serial runs do.
    serial_room: Room,
    line: Option<Connections>,
    interrupted: Option<Interrupted>,
    log: SentLog,
    engine_check: EngineCheck,
    restart: Option<RestartCommand>,
    /// The settings by which commits survive, before the server was killed for the first time.
    settings: Option<BTreeMap<String, String>>,
}

/// The open connections.
struct Connections {
    sessions: SessionConnections,
    keeper: Box<dyn Connection>,
    watcher: Option<Box<dyn Watcher>>,
    observer: Option<Box<dyn Connection>>,
    serial: Option<Box<dyn Connection>>,
    /// A case changed the settings of the serial connection.
    serial_soiled: bool,
    /// A case changed the schema that the serial connection works on.
    serial_schema_soiled: bool,
}

impl Connections {
    /// Closes the sessions of a case that may keep the tables from being read: one may have left them locked, and one whose statement
    /// has not come back may hold them still.
    fn let_go_of_tables(&mut self, case: &TestCase) -> Result<(), EngineError> {
        let away = self.sessions.away();
        if let Some(watcher) = &mut self.watcher {
            for id in &away {
                watcher.kill(*id)?;
            }
        }
        if soils(case) || !away.is_empty() {
            self.sessions.close_from(0);
        }
        Ok(())
    }

    /// The connections beside those of the sessions and the watcher. One of them may have been given up in the middle
    /// of a statement, which the server would go on with for ever.
    fn beside_sessions(&self) -> impl Iterator<Item = u64> {
        let others = [&self.observer, &self.serial].into_iter().flatten();
        others
            .chain([&self.keeper])
            .map(|connection| connection.id())
    }
}

/// Connections of a driver beside those of its sessions: keeper, watcher, observer and serial run.
pub const CONNECTIONS_BESIDE_SESSIONS: usize = 4;

/// The name of the database for serial runs beside this one.
fn serial_database(database: &str) -> String {
    format!("{database}_serial")
}

impl<'s> Driver<'s> {
    /// Creates the databases `NAME` and `NAME_serial` and connects.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub fn open(server: &'s dyn Server, database: &str) -> Result<Self, EngineError> {
        require_cases(server)?;
        let mut driver = Self {
            dialect: Arc::new(server.dialect().clone()),
            server,
            room: Room::new(database.to_owned()),
            serial_room: Room::new(serial_database(database)),
            line: None,
            interrupted: None,
            log: SentLog::default(),
            engine_check: EngineCheck::Every,
            restart: None,
            settings: None,
        };
        driver.reconnect()?;
        Ok(driver)
    }

    /// Drops every connection and database of this driver and makes them anew. Nothing is retried
    /// here: the caller decides how often and how long.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub fn reconnect(&mut self) -> Result<(), EngineError> {
        self.abandon();
        self.server.create_database(&self.room.database)?;
        self.server.create_database(&self.serial_room.database)?;
        let watcher = if self.server.waits() {
            Some(self.server.watcher()?)
        } else {
            None
        };
        self.line = Some(Connections {
            sessions: SessionConnections::new(),
            keeper: self.server.connect(&self.room.database)?,
            watcher,
            observer: None,
            serial: None,
            serial_soiled: false,
            serial_schema_soiled: false,
        });
        Ok(())
    }

    /// Drops the databases.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub fn close(mut self) -> Result<(), EngineError> {
        self.abandon();
        Self::drop_databases(self.server, &self.room.database)
    }

    /// Drops the databases that a driver of this name has made, where they are there: the second one though the first
    /// is refused.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub fn drop_databases(server: &dyn Server, database: &str) -> Result<(), EngineError> {
        let dropped = server.drop_database(database);
        dropped.and(server.drop_database(&serial_database(database)))
    }

    /// From now on, where the engine's own check of tables is dear, asks for it at the end of one case
    /// in as many as the dialect says: for runs of many cases. Which case that is follows from its
    /// text. Once a table was found wrong every case is checked again.
    pub fn sample_engine_checks(&mut self) {
        self.engine_check = EngineCheck::Sampled;
    }

    /// Lets cases have the server killed and started again by this command.
    pub fn restart_by(&mut self, command: RestartCommand) {
        self.restart = Some(command);
    }

    /// Records everything that is sent from now on, on new connections and tables, so that a
    /// [`super::bare_loop`] can send the same.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub fn start_recording(&mut self) -> Result<(), EngineError> {
        self.reconnect()?;
        self.log.start_recording();
        Ok(())
    }

    /// The recording since the start or the last call. The first one begins with empty databases,
    /// each other one where the one before it ended.
    pub fn take_recording(&mut self) -> Recording {
        self.log.take_recording().unwrap_or_default()
    }

    /// Closes every connection, and ends running statements if the server answers.
    pub fn abandon(&mut self) {
        self.room.forget();
        self.serial_room.forget();
        let has_failed = std::mem::take(&mut self.log.failed);
        let Some(mut line) = self.line.take() else {
            return;
        };
        let busy: Vec<u64> = match has_failed {
            // Whichever of them got no answer, its statement may go on.
            true => {
                let slots = line.sessions.all();
                let sessions = slots.filter_map(|slot| line.sessions.id(slot));
                sessions.chain(line.beside_sessions()).collect()
            }
            false => line.sessions.away(),
        };
        if let Some(watcher) = &mut line.watcher {
            for id in busy {
                if watcher.kill(id).is_err() {
                    // The server does not answer: trying the rest would only cost time.
                    return;
                }
            }
        }
    }

    fn connected(&mut self) -> Result<(), EngineError> {
        if self.line.is_none() || self.log.failed {
            self.reconnect()?;
        }
        Ok(())
    }

    fn run(
        &mut self,
        case: &TestCase,
        instrumentation: &Instrumentation,
    ) -> Result<Execution, EngineError> {
        self.connected()?;
        let Some(line) = self.line.as_mut() else {
            return Err(no_connection());
        };
        let dialect = self.server.dialect();
        let database = &self.room.database.clone();
        let sessions = case.sessions().len();
        line.sessions.open(sessions, self.server, database)?;
        let observes = !instrumentation.observe.is_empty();
        if observes && line.observer.is_none() && dialect.observer == ObserverKind::Uncommitted {
            line.observer = Some(observer(self.server, database)?);
        }
        let mut keeper = Hand {
            connection: line.keeper.as_mut(),
            place: ConnectionRole::Keeper,
            log: &mut self.log,
            dialect,
        };
        let schema = self.room.reset(&mut keeper, case, Emptying::Clean)?;
        if schema == Schema::Rebuilt && line.watcher.is_none() {
            // SQLite reads the schema once per connection, and may answer from what it remembers
            // with an error where the new schema has none.
            line.sessions.close_from(0);
            line.sessions.open(sessions, self.server, database)?;
        }
        let lines = ScheduledStatement::of_case(case, instrumentation, dialect);
        let stage = RunConnections {
            dialect,
            sessions: &mut line.sessions,
            watcher: line.watcher.as_deref_mut(),
            observer: line.observer.as_deref_mut().filter(|_| observes),
            log: &mut self.log,
        };
        let mut run = InterleavedRun::new(stage, case, instrumentation, &lines);
        if let Err(error) = run.play() {
            let (statement, record) = (run.interrupted, run.record);
            self.log.failed = true;
            self.interrupted = Some(Interrupted {
                statement,
                execution: record.abandon(),
            });
            return Err(error);
        }
        let record = run.record;
        self.end(case, record)
    }

    /// Reads and checks the tables that a run has left, and closes its record.
    fn end(&mut self, case: &TestCase, mut record: Record<'_>) -> Result<Execution, EngineError> {
        let Some(line) = self.line.as_mut() else {
            return Err(no_connection());
        };
        let dialect = self.server.dialect();
        line.let_go_of_tables(case)?;
        let mut keeper = Hand {
            connection: line.keeper.as_mut(),
            place: ConnectionRole::Keeper,
            log: &mut self.log,
            dialect,
        };
        let final_state = tables_left(&mut keeper, &self.room, case, &mut record)?;
        if final_state.len() < case.tables.len() {
            self.room.forget();
            let statements_sent = self.log.take_count();
            let execution = record.finish(final_state, Vec::new());
            return Ok(Execution {
                statements_sent,
                ..execution
            });
        }
        let ran = record.ran();
        let faults = self
            .room
            .check(&mut keeper, case, ran, &final_state, self.engine_check)?;
        if !faults.is_empty() {
            // What follows confirms and minimizes it.
            self.engine_check = EngineCheck::Every;
        }
        let mut execution = record.finish(final_state, faults);
        let definitions = index_check::check(&mut keeper, case, &execution)?;
        execution.table_faults.extend(definitions);
        execution.statements_sent = self.log.take_count();
        if leaves_another_schema(case) || tells_of_broken_tables(&execution) {
            self.room.forget();
        }
        Ok(execution)
    }
}

/// Runs during which the server is killed.
impl Driver<'_> {
    fn run_until_crash(
        &mut self,
        case: &TestCase,
        command: &RestartCommand,
    ) -> Result<CrashedRun, EngineError> {
        self.connected()?;
        let settings = self.checked_settings()?;
        let Some(line) = self.line.as_mut() else {
            return Err(no_connection());
        };
        let dialect = self.server.dialect();
        let database = self.room.database.clone();
        line.sessions
            .open(case.sessions().len(), self.server, &database)?;
        let mut keeper = Hand {
            connection: line.keeper.as_mut(),
            place: ConnectionRole::Keeper,
            log: &mut self.log,
            dialect,
        };
        self.room.reset(&mut keeper, case, Emptying::Clean)?;
        let plain = Instrumentation::default();
        let lines = ScheduledStatement::of_case(case, &plain, dialect);
        let stage = RunConnections {
            dialect,
            sessions: &mut line.sessions,
            watcher: None,
            observer: None,
            log: &mut self.log,
        };
        let mut run = InterleavedRun::new(stage, case, &plain, &lines);
        let mut crash = Crash::new(command, crashed::moment(case));
        let played = run.play_until_crash(&mut crash);
        let (statement, record) = (run.interrupted, run.record);
        let ran: Vec<&CaseStatement> = record.ran().collect();
        let mut execution = record.abandon();
        if let Err(error) = played {
            self.interrupted = Some(Interrupted {
                statement,
                execution,
            });
            return Err(error);
        }
        let is_noticed = crash.is_noticed || !line.sessions.away().is_empty();
        let at = crash.finish()?;
        if !is_noticed && line.keeper.execute("SELECT 1").is_ok() {
            return Err(command.failed(
                "ended well, and did not kill the server: connections of before are still open; it has \
                 to end the server by SIGKILL and to start it again",
            ));
        }
        execution.crash = Some(ServerCrash { at, settings });
        self.line = None;
        self.read_after_crash(case, &ran, command, &mut execution)?;
        Ok(crashed::as_sent(case, execution))
    }

    /// Adds the tables of the server that was started again to the record.
    fn read_after_crash(
        &mut self,
        case: &TestCase,
        ran: &[&CaseStatement],
        command: &RestartCommand,
        execution: &mut Execution,
    ) -> Result<(), EngineError> {
        let again = crashed::connected_again(self.server, &self.room.database, command)?;
        let Some(mut connection) = again else {
            execution.table_faults = crashed::all_gone(case);
            return Ok(());
        };
        let mut keeper = Hand {
            connection: connection.as_mut(),
            place: ConnectionRole::Keeper,
            log: &mut self.log,
            dialect: self.server.dialect(),
        };
        crashed::read_tables(&mut keeper, &mut self.room, case, ran, execution)?;
        execution.statements_sent = self.log.take_count();
        Ok(())
    }

    /// The settings by which commits survive, which a restart must not change: every crash is judged by
    /// what the first server promised.
    fn checked_settings(&mut self) -> Result<BTreeMap<String, String>, EngineError> {
        let names = self.dialect.durability_variables();
        let now = self.server.settings(&names)?;
        let before = self.settings.get_or_insert_with(|| now.clone());
        if *before == now {
            return Ok(now);
        }
        let shown = |settings: &BTreeMap<String, String>| {
            let settings = settings.iter();
            let settings: Vec<String> = settings.map(|(n, v)| format!("{n} = {v}")).collect();
            settings.join(", ")
        };
        Err(EngineError::Unsafe(format!(
            "the server came back with other settings: {}, and had {}; set them in its configuration",
            shown(&now),
            shown(before)
        )))
    }
}

fn no_connection() -> EngineError {
    EngineError::Resource("no connection".to_owned())
}

/// Whether a case may change session settings or the schema in ways we cannot read.
fn soils(case: &TestCase) -> bool {
    case.count(StatementKind::Opaque) + case.count(StatementKind::Set) > 0
}

/// Whether the tables of a run may be broken, so that the next case cannot use them.
fn tells_of_broken_tables(execution: &Execution) -> bool {
    let mut records = execution.records.values();
    let is_internal = |class| class == Some(ErrorClass::Internal);
    !execution.table_faults.is_empty()
        || records.any(|record| is_internal(record.outcome.error_class()))
}

/// The rows of every table that can be read at the end of a run, which is no evidence where one cannot.
fn tables_left(
    keeper: &mut Hand<'_>,
    room: &Room,
    case: &TestCase,
    record: &mut Record<'_>,
) -> Result<BTreeMap<String, Vec<Row>>, EngineError> {
    let place = EndOfRun {
        room,
        case,
        // Of a run that came to nothing a statement may still be on its way out, and holds its locks.
        may_be_locked: record.is_unreliable(),
    };
    let mut left = BTreeMap::new();
    for table in &case.tables {
        match contents_at_end(keeper, table, &place)? {
            ContentsLeft::Rows(rows) => {
                left.insert(table.name.clone(), rows);
            }
            ContentsLeft::OutOfReach => record.table_not_read(None),
            ContentsLeft::Unreadable(fault) => record.table_not_read(Some(fault)),
        }
    }
    Ok(left)
}

/// Whether a case, run as it is, may leave another schema than its set-up's.
fn leaves_another_schema(case: &TestCase) -> bool {
    soils_the_schema(case) || case.count(StatementKind::PhysicalDdl) > 0
}

/// The connection that reads uncommitted rows.
fn observer(server: &dyn Server, database: &str) -> Result<Box<dyn Connection>, EngineError> {
    let mut observer = server.connect(database)?;
    let level = IsolationLevel::ReadUncommitted;
    if let Some(sql) = server.dialect().set_isolation(level) {
        observer.execute(&sql)?;
    }
    Ok(observer)
}

impl Executor for Driver<'_> {
    fn execute(
        &mut self,
        case: &TestCase,
        instrumentation: &Instrumentation,
    ) -> Result<Execution, EngineError> {
        self.interrupted = None;
        self.log.take_count();
        let result = self.run(case, instrumentation);
        let stuck =
            |execution: &Execution| execution.unreliable == Some(UndecidedReason::NothingCanAnswer);
        match &result {
            // The set-up was refused: the connections are still usable.
            Err(EngineError::Setup { .. }) => {}
            Ok(execution) if !stuck(execution) => {}
            _ => self.abandon(),
        }
        result
    }

    fn serial(&mut self, case: &TestCase) -> Result<Box<dyn SerialRun + '_>, EngineError> {
        self.connected()?;
        let Some(line) = self.line.as_mut() else {
            return Err(no_connection());
        };
        // A number that a statement was to take, and did not, would be that of a later one.
        let dialect = self.server.dialect();
        let mut statements = case.statements.iter();
        let counts = statements.any(|s| statement::counted_insert(case, s, dialect).is_some());
        if std::mem::replace(&mut line.serial_soiled, counts || soils(case)) {
            line.serial = None;
        }
        if std::mem::replace(&mut line.serial_schema_soiled, soils_the_schema(case)) {
            self.serial_room.forget();
        }
        if line.serial.is_none() {
            line.serial = Some(self.server.connect(&self.serial_room.database)?);
            self.serial_room.may_be_in_transaction = false;
        }
        let Some(connection) = line.serial.as_mut() else {
            return Err(no_connection());
        };
        let hand = Hand {
            connection: connection.as_mut(),
            place: ConnectionRole::Serial,
            log: &mut self.log,
            dialect: self.server.dialect(),
        };
        let run = ServerSerialRun::start(hand, &mut self.serial_room, case.clone())?;
        Ok(Box::new(run))
    }

    fn renew(&mut self) {
        self.room.forget();
        self.serial_room.forget();
    }

    fn restarts_server(&self) -> bool {
        self.restart.is_some()
    }

    fn execute_until_crash(&mut self, case: &TestCase) -> Result<CrashedRun, EngineError> {
        self.interrupted = None;
        self.log.take_count();
        let Some(command) = self.restart.clone() else {
            return Err(no_restart_command());
        };
        let result = self.run_until_crash(case, &command);
        // Every connection is of a server that is gone, but for a set-up that was refused.
        if !matches!(result, Err(EngineError::Setup { .. })) {
            self.abandon();
        }
        result
    }

    fn dialect(&self) -> &Arc<Dialect> {
        &self.dialect
    }

    fn statements_sent(&self) -> u64 {
        self.log.sent_in_all()
    }

    fn interrupted(&self) -> Option<&Interrupted> {
        self.interrupted.as_ref()
    }
}
