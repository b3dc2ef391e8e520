//! Workloads as test cases: the statements of all sessions are drawn before the run.
//!
//! `lightweight`, whose transactions depend on earlier answers, and lists are not drawn.

use std::collections::BTreeMap;

use super::draw::{KeyWeights, SessionDraws};
use super::mini_transaction::MiniTransaction;
use super::plan::{PlannedOperation, TransactionEnd, TransactionPlan};
use super::register::Register;
use super::table::Table;
use super::{Distribution, Workload, WorkloadSettings};
use crate::dialect::Dialect;
use crate::generate::LevelChoice;
use crate::model::{
    Effect, IsolationLevel, Pace, SessionId, SetupKind, SetupStatement, StatementKind, TestCase,
};
use crate::statement::{analyze, shapes};

/// Which levels the sessions of a case run at, and by which they are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaseLevels {
    pub levels: LevelChoice,
    /// The stronger level by which cases are judged.
    pub claim: Option<IsolationLevel>,
}

impl CaseLevels {
    /// Whether the dialect promises a consistency model for a session of these levels: without one no history
    /// is judged.
    pub fn are_judged(self, dialect: &Dialect) -> bool {
        match self.levels {
            LevelChoice::One(level) => self.promises(level, dialect),
            LevelChoice::AnyOne | LevelChoice::Mixed => {
                let mut levels = dialect.levels.iter();
                levels.any(|level| self.promises(*level, dialect))
            }
        }
    }

    fn promises(self, level: IsolationLevel, dialect: &Dialect) -> bool {
        let judged = self.claim.map_or(level, |claim| claim.max(level));
        dialect.promise(judged).is_some()
    }

    /// The levels to draw from: those that are judged, if there are any.
    fn judged(self, dialect: &Dialect) -> Vec<IsolationLevel> {
        let levels = dialect.levels.iter().copied();
        let judged: Vec<IsolationLevel> = levels
            .filter(|level| self.promises(*level, dialect))
            .collect();
        if judged.is_empty() {
            dialect.levels.clone()
        } else {
            judged
        }
    }
}

/// The fewest sessions of a workload that is a case.
const SESSIONS_MIN: u32 = 3;

/// The most sessions of a workload that is a case.
pub const SESSIONS_MAX: u32 = 8;

/// The case of this seed and index: 3 to 8 sessions of 3 to 10 transactions on 2 to 8 keys, at the
/// free pace. Few keys make for contention.
pub fn case(seed: u64, index: u64, levels: CaseLevels, dialect: &Dialect) -> TestCase {
    let seed = case_seed(b"workload case\0", seed, index);
    let mut draw = SessionDraws::new(seed, u32::MAX, KeyWeights::new(Distribution::Uniform, 1));
    let kind: &'static dyn Workload = if draw.percent(60) {
        &MiniTransaction
    } else {
        &Register
    };
    let distribution = if draw.percent(30) {
        Distribution::Zipf
    } else {
        Distribution::Uniform
    };
    let settings = WorkloadSettings {
        keys: 2 + draw.below(7),
        operations: 1 + draw.below(6),
        reads_percent: 20 + draw.below(50),
        distribution,
        ..WorkloadSettings::of(kind)
    };
    let sessions = SESSIONS_MIN + draw.below(SESSIONS_MAX - SESSIONS_MIN + 1);
    let rounds = 3 + draw.below(8);
    let isolation = isolation(&mut draw, sessions, levels.levels, &levels.judged(dialect));
    let keys = KeyWeights::new(settings.distribution, settings.keys);
    let mut draws: Vec<SessionDraws> = (0..sessions)
        .map(|session| SessionDraws::new(seed, session, keys.clone()))
        .collect();
    let table = Table::new(dialect);
    let mut lines = CaseStatements::new(&table, dialect);
    for round in 0..rounds {
        for (session, draw) in (1..).zip(&mut draws) {
            let plan = kind.plan(draw, u64::from(round), &settings);
            lines.transaction(SessionId(session), &plan);
        }
    }
    let setup: Vec<SetupStatement> = table
        .set_up(&settings)
        .into_iter()
        .zip(std::iter::once(SetupKind::Schema).chain(std::iter::repeat(SetupKind::Rows)))
        .map(|(sql, kind)| SetupStatement { sql, kind })
        .collect();
    let tables = shapes(&setup, dialect);
    TestCase::new(setup, tables, lines.lines, isolation, levels.claim).at_pace(Pace::Free)
}

/// The seed of a case of this family, apart from those of the runs of `workload`.
pub(super) fn case_seed(family: &[u8], seed: u64, index: u64) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(family);
    hasher.update(&seed.to_le_bytes());
    hasher.update(&index.to_le_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(bytes)
}

/// The level of each session, drawn from these where the choice leaves it open.
pub(super) fn isolation(
    draw: &mut SessionDraws,
    sessions: u32,
    choice: LevelChoice,
    levels: &[IsolationLevel],
) -> BTreeMap<SessionId, IsolationLevel> {
    let mut any = || {
        let level = levels
            .get(draw.below(levels.len() as u32) as usize)
            .copied();
        level.unwrap_or(IsolationLevel::Serializable)
    };
    let common = match choice {
        LevelChoice::One(level) => Some(level),
        LevelChoice::AnyOne => Some(any()),
        LevelChoice::Mixed => None,
    };
    (1..=sessions)
        .map(|session| (SessionId(session), common.unwrap_or_else(&mut any)))
        .collect()
}

/// The statements of all sessions.
struct CaseStatements<'a> {
    table: &'a Table,
    dialect: &'a Dialect,
    lines: Vec<(SessionId, String, Effect)>,
    /// The effect of each kind of statement. Only the value that an UPDATE assigns differs.
    effects: BTreeMap<StatementKind, Effect>,
    /// The value written last; values are unique.
    value: i64,
}

impl<'a> CaseStatements<'a> {
    fn new(table: &'a Table, dialect: &'a Dialect) -> Self {
        Self {
            table,
            dialect,
            lines: Vec::new(),
            effects: BTreeMap::new(),
            value: 0,
        }
    }

    fn transaction(&mut self, session: SessionId, plan: &TransactionPlan) {
        let spelling = &self.dialect.spelling;
        let begin = spelling.begin.get("plain").cloned().unwrap_or_default();
        let end = match plan.end {
            TransactionEnd::Commit => Some((StatementKind::Commit, spelling.commit.clone())),
            TransactionEnd::Rollback => Some((StatementKind::Rollback, spelling.rollback.clone())),
            TransactionEnd::Autocommit => None,
        };
        if end.is_some() {
            self.push(session, StatementKind::Begin, begin);
        }
        for step in &plan.steps {
            self.step(session, *step);
        }
        if let Some((kind, sql)) = end {
            self.push(session, kind, sql);
        }
    }

    fn step(&mut self, session: SessionId, step: PlannedOperation) {
        match step {
            PlannedOperation::Read(key) => {
                let sql = self.table.read(key);
                self.push(session, StatementKind::Select, sql);
            }
            // Appends and compare-and-sets belong to kinds that are not drawn here.
            PlannedOperation::Write(key)
            | PlannedOperation::Append(key)
            | PlannedOperation::CompareAndSet(key) => {
                self.value += 1;
                let sql = self.table.write(key, self.value);
                self.push(session, StatementKind::Update, sql);
            }
        }
    }

    fn push(&mut self, session: SessionId, kind: StatementKind, sql: String) {
        let dialect = self.dialect;
        let effect = self.effects.entry(kind);
        let mut effect = effect.or_insert_with(|| analyze(&sql, dialect)).clone();
        for assigned in effect.assigned.values_mut() {
            *assigned = Some(self.value);
        }
        self.lines.push((session, sql, effect));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect;
    use crate::statement::key_access;

    #[test]
    fn a_case_is_a_pure_function_of_seed_and_index_and_reads_as_keys_and_values() {
        for (name, text) in dialect::BUILTIN {
            let dialect = dialect::parse(name, text, &"10.11.0".parse().unwrap()).unwrap();
            let levels = CaseLevels {
                levels: LevelChoice::AnyOne,
                claim: None,
            };
            let mut values = 0;
            for index in 0..50 {
                let drawn = case(7, index, levels, &dialect);
                assert_eq!(drawn, case(7, index, levels, &dialect));
                assert_ne!(drawn, case(8, index, levels, &dialect));
                assert_eq!(drawn.pace, Pace::Free);
                let mut written = std::collections::BTreeSet::new();
                for statement in drawn.user_statements() {
                    let access = key_access(&statement.sql, &dialect);
                    let access = access.unwrap_or_else(|| panic!("{name}: {}", statement.sql));
                    assert_eq!(statement.effect, analyze(&statement.sql, &dialect));
                    if let Some(value) = access.written {
                        assert!(written.insert(value), "{value} is written twice");
                    }
                }
                values += written.len();
                let levels: std::collections::BTreeSet<_> = drawn.isolation.values().collect();
                assert_eq!(levels.len(), 1);
            }
            assert!(values > 500, "{name}: {values}");
        }
    }
}
