//! Tables that sessions have used are read whole. Where one cannot be read, the case has put it out of reach, or the engine is
//! at fault.

use crate::engine::EngineError;
use crate::model::{
    Effect, ErrorClass, Outcome, ReadMoment, Row, StatementKind, TableFault, TableShape, TestCase,
};

use super::hand::{Hand, accepted};
use super::room::Room;

/// What the read of a table that sessions have used came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ContentsLeft {
    /// Sorted.
    Rows(Vec<Row>),
    /// A session may have dropped the table, given it another name, or keep it locked.
    OutOfReach,
    /// Nothing in the case is the cause.
    Unreadable(TableFault),
}

/// What may keep a table from being read at the end of a run.
pub(super) struct EndOfRun<'a> {
    /// Where the case ran.
    pub(super) room: &'a Room,
    pub(super) case: &'a TestCase,
    /// A statement of the run may not have let go of its locks.
    pub(super) may_be_locked: bool,
}

/// Reads a table while sessions are in their transactions, which may keep it locked. Whether it is gone is asked at the end.
pub(super) fn contents_during_run(
    hand: &mut Hand<'_>,
    table: &TableShape,
) -> Result<ContentsLeft, EngineError> {
    let is_out_of_reach = |class| matches!(class, ErrorClass::Missing | ErrorClass::LockTimeout);
    read(hand, table, ReadMoment::DuringRun, |class| {
        is_out_of_reach(class).then_some(Culprit::OfCase)
    })
}

/// Reads a table when every session has ended its transactions.
pub(super) fn contents_at_end(
    hand: &mut Hand<'_>,
    table: &TableShape,
    place: &EndOfRun<'_>,
) -> Result<ContentsLeft, EngineError> {
    let case = place.case;
    let may_be_the_case = case.count(StatementKind::Opaque) > 0 || soils_the_schema(case);
    read(hand, table, ReadMoment::AtEnd, |class| match class {
        ErrorClass::Missing | ErrorClass::LockTimeout if may_be_the_case => Some(Culprit::OfCase),
        ErrorClass::LockTimeout if place.may_be_locked => Some(Culprit::OfCase),
        ErrorClass::LockTimeout => Some(Culprit::OfEngine),
        // We may have misread a set-up, and ask for a table that it does not make.
        ErrorClass::Missing => place
            .room
            .has_table(&table.name)
            .then_some(Culprit::OfEngine),
        ErrorClass::Deadlock
        | ErrorClass::Serialization
        | ErrorClass::Busy
        | ErrorClass::Duplicate
        | ErrorClass::NotNull
        | ErrorClass::ForeignKey
        | ErrorClass::Check
        | ErrorClass::Data
        | ErrorClass::Interrupted
        | ErrorClass::Syntax
        | ErrorClass::TableChanged
        | ErrorClass::SchemaChanged
        | ErrorClass::Unsupported
        | ErrorClass::FailedTransaction
        | ErrorClass::ReadOnly
        | ErrorClass::Privilege
        | ErrorClass::Resource
        | ErrorClass::Internal
        | ErrorClass::Other => None,
    })
}

/// What a rejection comes from.
enum Culprit {
    OfCase,
    OfEngine,
}

/// Reads a table. `cause` says what a rejection of a class comes from; of one that it does not know the run has no account.
/// Whatever the case did, no engine may say of itself that it is broken.
fn read(
    hand: &mut Hand<'_>,
    table: &TableShape,
    moment: ReadMoment,
    cause: impl Fn(ErrorClass) -> Option<Culprit>,
) -> Result<ContentsLeft, EngineError> {
    let (sql, outcome) = hand.select_all(table)?;
    let cause = match outcome.error_class() {
        Some(ErrorClass::Internal) => Some(Culprit::OfEngine),
        Some(class) => cause(class),
        None => None,
    };
    match (cause, outcome) {
        (Some(Culprit::OfCase), _) => Ok(ContentsLeft::OutOfReach),
        (Some(Culprit::OfEngine), Outcome::Rejected(error)) => {
            let why = format!("{} ({})", error.message, error.code);
            Ok(ContentsLeft::Unreadable(unreadable(table, moment, why)))
        }
        (None | Some(Culprit::OfEngine), outcome) => {
            accepted(&sql, outcome).map(ContentsLeft::Rows)
        }
    }
}

/// A table that the engine does not read, in its words.
pub(super) fn unreadable(table: &TableShape, moment: ReadMoment, message: String) -> TableFault {
    TableFault::Unreadable {
        table: table.name.clone(),
        moment,
        message,
    }
}

/// Whether a case may change the schema in ways we cannot read. What is known of settings that the dialect names
/// is that they do not.
pub(super) fn soils_the_schema(case: &TestCase) -> bool {
    let strange = |effect: &Effect| match effect.setting {
        Some(setting) => !setting.is_understood(),
        None => effect.kind == StatementKind::Opaque,
    };
    case.statements.iter().any(|s| strange(&s.effect))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::dialect::{Dialect, dialect_of};
    use crate::engine::{Connection, TransactionState};
    use crate::execute::recording::{ConnectionRole, SentLog};
    use crate::execute::room::Emptying;
    use crate::model::{SessionId, SetupKind, SetupStatement, SqlError, Value};
    use crate::statement::{analyze, shapes};

    /// A server that has a table `t`, and refuses to read any.
    struct Refusing {
        dialect: Dialect,
        code: u32,
    }

    impl Connection for Refusing {
        fn id(&self) -> u64 {
            1
        }

        fn execute(&mut self, sql: &str) -> Result<Outcome, EngineError> {
            if sql.starts_with("SELECT") {
                let (code, message) = (self.code.to_string(), "no rows for you".to_owned());
                let class = self.dialect.error_class(&code);
                return Ok(Outcome::Rejected(SqlError {
                    code,
                    class,
                    message,
                }));
            }
            let cells = ["t", "BASE TABLE"].map(|cell| Value::Text(cell.to_owned()));
            match sql == self.dialect.spelling.list_tables {
                true => Ok(Outcome::Rows(vec![cells.to_vec()])),
                false => Ok(Outcome::Affected(0)),
            }
        }

        fn transaction_state(&mut self) -> Result<TransactionState, EngineError> {
            Ok(TransactionState::None)
        }

        fn dialect(&self) -> &Dialect {
            &self.dialect
        }
    }

    /// What it comes to when a table cannot be read for this error, in the midst of a case or at its end.
    fn read_of(
        (table, statement): (&str, &str),
        code: u32,
        moment: ReadMoment,
        may_be_locked: bool,
    ) -> Option<ContentsLeft> {
        let dialect = dialect_of("mysql", "9.7");
        let setup = vec![SetupStatement {
            sql: format!("CREATE TABLE {table} (a INT PRIMARY KEY)"),
            kind: SetupKind::Schema,
        }];
        let tables = shapes(&setup, &dialect);
        let line = (
            SessionId(1),
            statement.to_owned(),
            analyze(statement, &dialect),
        );
        let case = TestCase::new(setup, tables, vec![line], BTreeMap::new(), None);
        let mut connection = Refusing {
            dialect: dialect.clone(),
            code,
        };
        let mut hand = Hand {
            connection: &mut connection,
            place: ConnectionRole::Keeper,
            log: &mut SentLog::default(),
            dialect: &dialect,
        };
        let mut room = Room::new("rashomon_refusing".to_owned());
        let reset = room.reset(&mut hand, &case, Emptying::Clean);
        reset.expect("a set-up that is accepted");
        let place = EndOfRun {
            room: &room,
            case: &case,
            may_be_locked,
        };
        let shape = &case.tables[0];
        let read = match moment {
            ReadMoment::DuringRun => contents_during_run(&mut hand, shape),
            ReadMoment::AtEnd | ReadMoment::AfterCrash => contents_at_end(&mut hand, shape, &place),
        };
        read.ok()
    }

    fn fault(moment: ReadMoment, code: u32) -> Option<ContentsLeft> {
        Some(ContentsLeft::Unreadable(TableFault::Unreadable {
            table: "t".to_owned(),
            moment,
            message: format!("no rows for you ({code})"),
        }))
    }

    const WRITE: (&str, &str) = ("t", "UPDATE t SET a = 2");

    #[test]
    fn a_table_that_is_broken_gone_or_locked_behind_understood_statements_is_a_fault() {
        for code in [1030, 1034, 1146, 1205] {
            let at_end = read_of(WRITE, code, ReadMoment::AtEnd, false);
            assert_eq!(at_end, fault(ReadMoment::AtEnd, code), "{code}");
        }
        // Not even a statement that only the engine understands may break it.
        let drop = ("t", "DROP TABLE t");
        let broken = read_of(drop, 1030, ReadMoment::AtEnd, true);
        assert_eq!(broken, fault(ReadMoment::AtEnd, 1030));
        let observed = read_of(WRITE, 1034, ReadMoment::DuringRun, false);
        assert_eq!(observed, fault(ReadMoment::DuringRun, 1034));
    }

    #[test]
    fn a_table_that_the_case_may_have_dropped_or_locked_is_out_of_reach() {
        let out_of_reach = Some(ContentsLeft::OutOfReach);
        for statement in ["DROP TABLE t", "LOCK TABLES t WRITE", "RENAME TABLE t TO u"] {
            for code in [1146, 1205] {
                let at_end = read_of(("t", statement), code, ReadMoment::AtEnd, false);
                assert_eq!(at_end, out_of_reach, "{statement} {code}");
            }
        }
        let stuck = read_of(WRITE, 1205, ReadMoment::AtEnd, true);
        assert_eq!(stuck, out_of_reach);
        for code in [1146, 1205] {
            let beside = read_of(WRITE, code, ReadMoment::DuringRun, false);
            assert_eq!(beside, out_of_reach, "{code}");
        }
    }

    #[test]
    fn a_table_that_the_set_up_did_not_make_and_an_error_of_the_environment_are_no_fault() {
        let misread = ("u", "UPDATE u SET a = 2");
        assert_eq!(read_of(misread, 1146, ReadMoment::AtEnd, false), None);
        for code in [1142, 1290, 1317] {
            assert_eq!(
                read_of(WRITE, code, ReadMoment::AtEnd, false),
                None,
                "{code}"
            );
        }
    }
}
