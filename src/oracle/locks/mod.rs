//! Locks: who should have waited and did not.
//!
//! From the account of a run: no statement writes over a row of an open transaction, no read that
//! locks gets past one, and nobody changes what such a read found, or would find, or locks it against
//! that read, while its transaction is open. Waiting too much is legal, but for a transaction that has ended, or by
//! what takes no lock. `docs/oracle-locks.md` says what this claims and what it may miss.

mod absent_key;
mod breach;
mod compared_at_commit;
mod compatible;
mod got_past;
mod held_twice;
mod holders;
mod kept;
mod locked_table;
mod locking_read;
mod may_hold;
mod met_duplicate;
mod met_row;
mod outlived;
mod overwritten;
mod passed_by_upsert;
mod refused;
mod refused_early;
mod refused_for_nobody;
mod shared;
mod skipped;
mod strength;
#[cfg(test)]
mod tests;
mod trial;
mod unrefused;

use std::collections::{BTreeMap, BTreeSet};

use self::breach::BrokenLock;
use self::compared_at_commit::ComparedCommit;
use self::holders::LockHolders;
use self::locking_read::LockingRead;
use self::skipped::SkipJudged;
use self::trial::ReadTrial;
use super::view;
use super::{Evidence, Needs, Oracle, Ruling, refusal};
use crate::dialect::{Capability, Dialect, ObserverKind};
use crate::engine::EngineError;
use crate::execute::SerialRun;
use crate::model::{
    CaseStatement, IsolationLevel, StatementId, StatementKind, TestCase, UndecidedReason, Verdict,
};
use crate::observe::Learner;

/// The oracle.
#[derive(Clone, Copy, Debug)]
pub struct LockOracle;

impl Oracle for LockOracle {
    fn name(&self) -> &'static str {
        "locks"
    }

    fn about(&self) -> &'static str {
        "who should have waited for a lock and did not; NOWAIT and SKIP LOCKED"
    }

    fn needs(&self) -> Needs {
        Needs::views(Learner::Observer)
    }

    fn excludes_engine(&self, dialect: &Dialect) -> Option<UndecidedReason> {
        let keeps = |level: &IsolationLevel| dialect.lock_reach(*level).is_some();
        if !dialect.levels.iter().any(keeps) && !dialect.supports(Capability::LocksAtCommit) {
            return Some(UndecidedReason::NoRowLocks);
        }
        let shown = match dialect.observer {
            ObserverKind::Uncommitted | ObserverKind::Returning | ObserverKind::Absent => true,
            ObserverKind::Writer => false,
        };
        (!shown).then_some(UndecidedReason::NothingShowsUncommittedRows)
    }

    fn excludes(&self, case: &TestCase, dialect: &Dialect) -> Option<UndecidedReason> {
        let keeps = |session| dialect.lock_reach(case.judged_level(session)).is_some();
        let all_keep = case.sessions().into_iter().all(keeps);
        if !all_keep && !dialect.supports(Capability::LocksAtCommit) {
            return Some(UndecidedReason::NoRowLocks);
        }
        refusal::unknown_trigger(case, dialect)
    }

    fn judge(
        &self,
        evidence: &Evidence,
        serial: &mut dyn SerialRun,
    ) -> Result<Ruling, EngineError> {
        if let Some(reason) = blind(evidence) {
            return Ok(Ruling::undecided(reason));
        }
        if evidence.dialect.supports(Capability::LocksAtCommit) {
            return at_commit(evidence, serial);
        }
        let holders = LockHolders::of(evidence);
        let mut breaches: Vec<BrokenLock> = overwritten::find(evidence, &holders).collect();
        let mut tested = BTreeSet::new();
        let mut trial = ReadTrial::start(evidence, serial);
        let mut earlier = Vec::new();
        for id in evidence.execution.execution_order() {
            if let Some(refusal) = refused::judge(evidence, &holders, id) {
                tested.insert(id);
                let refusal = match refusal {
                    Some(refusal) => Some(refusal),
                    None => refused::beside_locks(evidence, &holders, id, &earlier, &mut trial)?,
                };
                breaches.extend(refusal);
            }
            let statement = evidence.case.statement(id);
            let used = |statement| locked_table::find(evidence, &holders, statement);
            breaches.extend(statement.and_then(used));
            breaches.extend(needless_wait(evidence, &holders, id));
            breaches.extend(unrefused::write(evidence, id));
            breaches.extend(absent_key::find(evidence, &holders, id));
            breaches.extend(unrefused::passed_over(evidence, id, &mut trial)?);
            breaches.extend(refused_for_nobody::find(evidence, id, &mut trial)?);
            breaches.extend(refused_early::find(evidence, &holders, id, &mut trial)?);
            let by_upsert = passed_by_upsert::find(evidence, &holders, id, &mut trial)?;
            breaches.extend(by_upsert);
            let duplicate = met_duplicate::find(evidence, &holders, id, &mut trial)?;
            breaches.extend(duplicate);
            let Some(mut read) = LockingRead::of(evidence, id) else {
                continue;
            };
            if read.statement.effect.depends_on_locks {
                let skipped = skipped::judge(evidence, &holders, &read, &earlier, &mut trial)?;
                tested.extend(skipped.is_judged().then_some(id));
                match skipped {
                    SkipJudged::Left | SkipJudged::Open => {}
                    SkipJudged::Wrong(breach) => breaches.push(breach),
                    SkipJudged::Right(found) => {
                        read.seen = found;
                        breaches.extend(kept::find(evidence, &holders, &read, &mut trial)?);
                        earlier.push(read);
                    }
                }
                continue;
            }
            if read.latitude.is_some() {
                kept::take_newest(evidence, &mut read, &mut trial)?;
                breaches.extend(kept::find(evidence, &holders, &read, &mut trial)?);
                continue;
            }
            breaches.extend(got_past::find(evidence, &holders, &read, &mut trial)?);
            breaches.extend(kept::find(evidence, &holders, &read, &mut trial)?);
            breaches.extend(unrefused::read(evidence, &read, &mut trial)?);
            let twice = held_twice::find(evidence, &holders, &read, &earlier, &mut trial)?;
            breaches.extend(twice);
            tested.extend(read.statement.effect.nowait.then_some(id));
            earlier.push(read);
        }
        Ok(Ruling {
            verdict: verdict(evidence, &breaches),
            untested: untested(evidence, &tested),
            tested,
            acyclic: None,
        })
    }
}

/// Whether a statement waited for nobody who was in its way.
fn needless_wait(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    id: StatementId,
) -> Option<BrokenLock> {
    refused::waited(evidence, holders, id)
        .or_else(|| outlived::find(evidence, holders, id))
        .or_else(|| shared::waited_for_a_reader(evidence, holders, id))
        .or_else(|| compatible::waited_for_one(evidence, holders, id))
}

/// The ruling where transactions lock only when they commit: nobody waits, and the COMMIT of a transaction that read rows FOR
/// UPDATE is compared with what others have committed.
fn at_commit(evidence: &Evidence, serial: &mut dyn SerialRun) -> Result<Ruling, EngineError> {
    let mut trial = ReadTrial::start(evidence, serial);
    let mut breaches = Vec::new();
    let mut tested = BTreeSet::new();
    for id in evidence.execution.execution_order() {
        if let Some(compared) = ComparedCommit::of(evidence, id) {
            tested.insert(compared.end.id);
            breaches.extend(compared.judge(evidence, &mut trial)?);
        }
    }
    let verdict = match tested.is_empty() {
        true => Verdict::Undecided(UndecidedReason::NothingPredicted),
        false => verdict(evidence, &breaches),
    };
    Ok(Ruling {
        verdict,
        untested: untested(evidence, &tested),
        tested,
        acyclic: None,
    })
}

/// Why nothing can be said about this run at all.
fn blind(evidence: &Evidence) -> Option<UndecidedReason> {
    // It may have changed or locked anything, accepted or not.
    let opaque = |s: &CaseStatement| s.effect.kind == StatementKind::Opaque;
    view::blind(evidence).or_else(|| {
        let mut user = evidence.case.user_statements();
        user.any(opaque).then_some(UndecidedReason::OpaqueStatement)
    })
}

fn untested(
    evidence: &Evidence,
    tested: &BTreeSet<StatementId>,
) -> BTreeMap<StatementId, UndecidedReason> {
    let answered = evidence.case.user_statements().map(|s| s.id);
    answered
        .filter(|id| evidence.execution.records.contains_key(id) && !tested.contains(id))
        .map(|id| (id, UndecidedReason::NothingPredicted))
        .collect()
}

fn verdict(evidence: &Evidence, breaches: &[BrokenLock]) -> Verdict {
    if let Some(first) = breaches.first() {
        return Verdict::Violation(Box::new(breach::finding(evidence, first, breaches)));
    }
    let judged = |s: &CaseStatement| {
        let kind = s.effect.kind;
        !kind.is_control() || kind == StatementKind::LockTable
    };
    let mut statements = evidence.case.statements.iter();
    if statements.any(|s| judged(s) && evidence.execution.records.contains_key(&s.id)) {
        Verdict::Agree
    } else {
        Verdict::Undecided(UndecidedReason::NothingRan)
    }
}
