//! Which locks of a table exclude which, and as of when a statement looks for its rows that waited for one.

use super::entry::{CalibratedEntry, Proof};
use super::stage::{Halt, Reply, Stage};
use crate::dialect::{Capability, Dialect};
use crate::model::{ErrorClass, IsolationLevel, Outcome, ReadMode, Role, TableLockMode};
use crate::statement::analyze;

/// The keys of the dialect file that it proves.
const MODES: &str = "table-locks";
const SNAPSHOT: &str = "snapshot-point";

/// What is asked while a transaction has locked `u`, beside LOCK TABLE itself.
const USES: [&str; 5] = [
    "SELECT c FROM u WHERE pkey = 1",
    "SELECT c FROM u WHERE pkey = 1 FOR SHARE",
    "UPDATE u SET c = 55 WHERE pkey = 1",
    "DELETE FROM u WHERE pkey = 1",
    "INSERT INTO u VALUES (91, 91)",
];

/// One thing that the dialect says of locks of tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TableLockFact {
    /// Whether a statement waits for, or is refused by, a lock of this mode.
    Waits {
        held: TableLockMode,
        sql: String,
        claim: LockReply,
    },
    /// Whether a statement that waited for the table shows the rows that were committed when the wait ended.
    ShowsNewRows { level: IsolationLevel, claim: bool },
}

/// What is told to a statement that comes to a locked table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockReply {
    Waits,
    Refused,
    Goes,
}

impl LockReply {
    fn words(self) -> &'static str {
        match self {
            Self::Waits => "waits",
            Self::Refused => "refused at once",
            Self::Goes => "does not wait",
        }
    }

    fn of(outcome: &Outcome) -> Option<Self> {
        match outcome.error_class() {
            None => Some(Self::Goes),
            Some(ErrorClass::LockTimeout) => Some(Self::Refused),
            Some(_) => None,
        }
    }
}

/// What there is to prove; nothing where the dialect has no LOCK TABLE.
pub(super) fn of(dialect: &Dialect) -> Vec<TableLockFact> {
    if !dialect.supports(Capability::LockTable) {
        return Vec::new();
    }
    let mut facts = Vec::new();
    for held in TableLockMode::ALL {
        let waiting = TableLockMode::ALL.map(lock_table);
        let refused = TableLockMode::ALL.map(|mode| format!("{} NOWAIT", lock_table(mode)));
        let uses = USES.iter().map(|&sql| sql.to_owned());
        for sql in waiting.into_iter().chain(refused).chain(uses) {
            let effect = analyze(&sql, dialect);
            let mode = effect.table_lock_mode("u");
            let rules = &dialect.lock_rules;
            let excluded = mode.is_some_and(|mode| rules.exclude_tables(held, mode));
            let claim = match (excluded, effect.nowait) {
                (true, true) => LockReply::Refused,
                (true, false) => LockReply::Waits,
                (false, _) => LockReply::Goes,
            };
            facts.push(TableLockFact::Waits { held, sql, claim });
        }
    }
    let levels = dialect.levels.iter().copied();
    facts.extend(levels.map(|level| TableLockFact::ShowsNewRows {
        level,
        claim: dialect.read_mode(level, Role::PlainSelect, true) != ReadMode::TransactionSnapshot,
    }));
    facts
}

fn lock_table(mode: TableLockMode) -> String {
    format!("LOCK TABLE u IN {} MODE", mode.sql())
}

impl TableLockFact {
    pub(super) fn key(&self) -> &'static str {
        match self {
            Self::Waits { .. } => MODES,
            Self::ShowsNewRows { .. } => SNAPSHOT,
        }
    }

    /// Asks the server.
    pub(super) fn probe(&self, stage: &mut Stage<'_>) -> Result<CalibratedEntry, Halt> {
        match self {
            Self::Waits { held, sql, claim } => {
                let got = told(stage, *held, sql)?;
                let proof = proof(got == Some(*claim));
                let form = format!("{}, then {sql}", held.sql());
                let subject = MODES.to_owned();
                let entry = CalibratedEntry::new(subject, form, claim.words().to_owned(), proof);
                Ok(entry.measured(got.map_or("another error", LockReply::words)))
            }
            Self::ShowsNewRows { level, claim } => {
                stage.levels(*level, *level)?;
                let got = shows_new_rows(stage)?;
                let words = |new: bool| match new {
                    true => "as of the end of the wait",
                    false => "as of when it was sent",
                };
                let form = "SELECT that waited for a table".to_owned();
                let subject = format!("{SNAPSHOT} at {}", level.slug());
                let claimed = words(*claim).to_owned();
                let entry = CalibratedEntry::new(subject, form, claimed, proof(got == *claim));
                Ok(entry.measured(words(got)))
            }
        }
    }
}

fn proof(holds: bool) -> Proof {
    match holds {
        true => Proof::Right,
        false => Proof::Wrong,
    }
}

fn told(stage: &mut Stage<'_>, held: TableLockMode, sql: &str) -> Result<Option<LockReply>, Halt> {
    let begin = stage.begin();
    stage.tested.must(begin)?;
    stage.tested.must(&lock_table(held))?;
    stage.other.must(begin)?;
    let told = match stage.ask_other_and_free(sql)? {
        Reply::Waits => Some(LockReply::Waits),
        Reply::Answered(outcome) => LockReply::of(&outcome),
    };
    stage.reset()?;
    Ok(told)
}

/// Whether a first SELECT that waits for the strongest lock shows what its holder committed.
fn shows_new_rows(stage: &mut Stage<'_>) -> Result<bool, Halt> {
    const COUNT: &str = "SELECT c FROM u WHERE c = 77";
    let begin = stage.begin();
    stage.tested.must(begin)?;
    stage
        .tested
        .must(&lock_table(TableLockMode::AccessExclusive))?;
    stage.tested.must("UPDATE u SET c = 77 WHERE pkey = 1")?;
    stage.other.must(begin)?;
    let answered = match stage.ask_other(COUNT)? {
        Reply::Waits => {
            let commit = stage.server.dialect().spelling.commit.clone();
            stage.tested.must(&commit)?;
            stage.other.finish()?
        }
        Reply::Answered(outcome) => outcome,
    };
    stage.reset()?;
    Ok(matches!(answered, Outcome::Rows(rows) if !rows.is_empty()))
}
