//! What is left of a run after a crash of the server: the tables, and the case as far as it was sent.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::engine::{Connection, EngineError, Leftover, Server};
use crate::model::{
    CaseStatement, Execution, IsolationLevel, ReadMoment, SessionId, StatementId, TableFault,
    TestCase, TransactionId,
};

use super::contents_left::unreadable;
use super::hand::Hand;
use super::restart::RestartCommand;
use super::room::Room;
use super::table_check::{EngineCheck, content_hash};

/// The most answers that a run gets before the server is killed.
const ANSWERS_MAX: u64 = 800;

/// How often a server that is not there yet is tried.
const TRY_AGAIN: Duration = Duration::from_millis(50);

/// A run during which the server was killed.
#[derive(Clone, Debug)]
pub struct CrashedRun {
    /// The statements that were sent, in the order of sending, numbered anew.
    pub case: TestCase,
    pub execution: Execution,
}

/// After how many answers the server is killed: by what the case is, so that a seed decides it.
pub(super) fn moment(case: &TestCase) -> usize {
    // Below 800.
    (content_hash(case) % ANSWERS_MAX) as usize
}

/// A connection to the server that was started again; None when the database is gone.
pub(super) fn connected_again(
    server: &dyn Server,
    database: &str,
    command: &RestartCommand,
) -> Result<Option<Box<dyn Connection>>, EngineError> {
    let began = Instant::now();
    loop {
        let error = match server.connect(database) {
            Ok(connection) => return reader(server, connection).map(Some),
            Err(error) => error,
        };
        let is_there = |left: &Leftover| left.database == database;
        if server
            .leftovers()
            .is_ok_and(|left| !left.iter().any(is_there))
        {
            return Ok(None);
        }
        if began.elapsed() > command.patience {
            let seconds = command.patience.as_secs();
            return Err(command.failed(&format!(
                "ended well, and the server does not answer {seconds} s later: {error}; look at the \
                 server's error log"
            )));
        }
        std::thread::sleep(TRY_AGAIN);
    }
}

/// Reads committed rows only, whatever the server's default: it may still undo, beside new sessions, what
/// was open at the crash (MySQL manual, "InnoDB Recovery").
fn reader(
    server: &dyn Server,
    mut connection: Box<dyn Connection>,
) -> Result<Box<dyn Connection>, EngineError> {
    if let Some(sql) = server
        .dialect()
        .set_isolation(IsolationLevel::RepeatableRead)
    {
        connection.execute(&sql)?;
    }
    Ok(connection)
}

/// Adds every table after the crash to the record, and what is wrong with them. A table that cannot be
/// read is wrong.
pub(super) fn read_tables(
    hand: &mut Hand<'_>,
    room: &mut Room,
    case: &TestCase,
    ran: &[&CaseStatement],
    execution: &mut Execution,
) -> Result<(), EngineError> {
    for table in &case.tables {
        match hand.contents(table) {
            Ok(rows) => {
                execution.final_state.insert(table.name.clone(), rows);
            }
            Err(EngineError::Setup { message, .. }) => {
                let fault = unreadable(table, ReadMoment::AfterCrash, message);
                execution.table_faults.push(fault);
            }
            Err(error) => return Err(error),
        }
    }
    if execution.table_faults.is_empty() {
        let (ran, rows) = (ran.iter().copied(), &execution.final_state);
        execution.table_faults = room.check(hand, case, ran, rows, EngineCheck::Every)?;
    }
    Ok(())
}

/// Every table of a database that is gone.
pub(super) fn all_gone(case: &TestCase) -> Vec<TableFault> {
    let tables = case.tables.iter();
    tables
        .map(|table| {
            let why = "its database is gone".to_owned();
            unreadable(table, ReadMoment::AfterCrash, why)
        })
        .collect()
}

/// The part of a case that was sent, in the order of sending, and its record under the new numbers.
///
/// What was left out because the engine had ended the transaction stays if its session went on: without
/// its end the next statement would belong to it.
pub(super) fn as_sent(case: &TestCase, execution: Execution) -> CrashedRun {
    let order = execution.sending_order();
    let places: BTreeMap<StatementId, usize> = order
        .iter()
        .enumerate()
        .map(|(place, id)| (*id, place))
        .collect();
    let mut last_sent: BTreeMap<SessionId, usize> = BTreeMap::new();
    for (index, statement) in case.statements.iter().enumerate() {
        if places.contains_key(&statement.id) {
            last_sent.insert(statement.session, index);
        }
    }
    let mut at: BTreeMap<SessionId, usize> = BTreeMap::new();
    let mut kept: Vec<(usize, CaseStatement)> = Vec::new();
    for (index, statement) in case.statements.iter().enumerate() {
        if last_sent
            .get(&statement.session)
            .is_none_or(|last| index > *last)
        {
            continue;
        }
        let at = at.entry(statement.session).or_default();
        *at = places.get(&statement.id).copied().unwrap_or(*at);
        kept.push((*at, statement.clone()));
    }
    kept.sort_by_key(|(place, _)| *place);
    let kept: Vec<CaseStatement> = kept.into_iter().map(|(_, statement)| statement).collect();
    let old: Vec<StatementId> = kept.iter().map(|statement| statement.id).collect();
    let case = case.with_statements(kept);
    let new = case.statements.iter().map(|statement| statement.id);
    let numbers = NewNumbers::new(old.into_iter().zip(new));
    CrashedRun {
        execution: numbers.of_execution(execution),
        case,
    }
}

/// New numbers by old ones.
struct NewNumbers {
    statements: BTreeMap<StatementId, StatementId>,
    transactions: BTreeMap<TransactionId, TransactionId>,
}

impl NewNumbers {
    fn new(pairs: impl Iterator<Item = (StatementId, StatementId)>) -> Self {
        let statements: BTreeMap<StatementId, StatementId> = pairs.collect();
        let ids = statements.iter();
        let transactions = ids.map(|(old, new)| (old.transaction, new.transaction));
        Self {
            transactions: transactions.collect(),
            statements,
        }
    }

    fn of_execution(&self, mut execution: Execution) -> Execution {
        let transaction = |id: TransactionId| self.transactions.get(&id).copied();
        execution.events.retain_mut(|event| {
            let new = self.statements.get(&event.statement);
            new.map(|new| event.statement = *new).is_some()
        });
        let records = std::mem::take(&mut execution.records).into_iter();
        execution.records = records
            .filter_map(|(id, mut record)| {
                record.id = *self.statements.get(&id)?;
                record.waited_for = record
                    .waited_for
                    .into_iter()
                    .filter_map(transaction)
                    .collect();
                Some((record.id, record))
            })
            .collect();
        let transactions = std::mem::take(&mut execution.transactions).into_iter();
        execution.transactions = transactions
            .filter_map(|(id, status)| Some((transaction(id)?, status)))
            .collect();
        let contradicted = execution.contradicted;
        execution.contradicted = contradicted.and_then(|id| self.statements.get(&id).copied());
        execution
    }
}
