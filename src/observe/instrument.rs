//! What to add to a run so that row versions can be learned from it. A pure function of the case.

use std::collections::BTreeSet;

use super::Learner;
use crate::dialect::{Capability, Dialect, SnapshotPoint};
use crate::execute::{Instrumentation, Probe};
use crate::model::{
    CaseStatement, Doubt, ProbeTag, ReadMode, Role, StatementKind, TestCase, TransactionId,
};

/// The instrumentation of a case for one learner.
pub fn instrument(case: &TestCase, dialect: &Dialect, learner: Learner) -> Instrumentation {
    let mut plan = Instrumentation::default();
    if dialect.snapshot_point == SnapshotPoint::FirstConsistentRead {
        fix_snapshot_points(case, dialect, &mut plan);
    }
    for statement in &case.statements {
        match learner {
            Learner::Observer => {
                let targets: Vec<String> = statement.effect.targets().map(str::to_owned).collect();
                if !targets.is_empty() {
                    plan.observe.insert(statement.id, targets);
                }
            }
            Learner::Probes => probe(case, dialect, statement, &mut plan),
        }
    }
    plan
}

/// The read mode a statement of the case promises for a role, by the level it is judged by.
pub(super) fn promised_mode(
    case: &TestCase,
    dialect: &Dialect,
    statement: &CaseStatement,
    role: Role,
) -> ReadMode {
    let level = case.judged_level(statement.session);
    dialect.read_mode(level, role, case.is_explicit(statement.id.transaction))
}

/// Puts a read before the first statement of each transaction that reads its snapshot, where that
/// statement may be answered without taking one (an optimizer that knows the answer does not look).
fn fix_snapshot_points(case: &TestCase, dialect: &Dialect, plan: &mut Instrumentation) {
    let mut fixed: BTreeSet<TransactionId> = BTreeSet::new();
    for statement in &case.statements {
        let id = statement.id;
        let effect = &statement.effect;
        if effect.kind == StatementKind::RollbackTo && dialect.registers(Doubt::EarlySavepoint) {
            // The engine may have begun the transaction anew, without a snapshot.
            fixed.remove(&id.transaction);
            continue;
        }
        if fixed.contains(&id.transaction) || !case.is_explicit(id.transaction) {
            continue;
        }
        if effect.kind == StatementKind::BeginSnapshot {
            fixed.insert(id.transaction);
            continue;
        }
        let through_snapshot = effect.uses.iter().any(|u| {
            promised_mode(case, dialect, statement, u.role) == ReadMode::TransactionSnapshot
        });
        if !through_snapshot && effect.kind != StatementKind::Opaque {
            continue;
        }
        fixed.insert(id.transaction);
        let Some(table) = case.tables.first() else {
            continue;
        };
        if !effect.surely_takes_snapshot {
            let sql = dialect
                .spelling
                .fix_snapshot
                .replace("{table}", &dialect.quote(&table.name));
            plan.before.entry(id).or_default().push(Probe {
                tag: ProbeTag::FixSnapshot,
                sql,
            });
        }
    }
}

/// Probes around one statement, each in the mode of the role it stands for.
///
/// Order: lock the target, lock the sources, then the plain reads, so that no probe that may wait
/// comes after one whose answer could grow stale meanwhile.
fn probe(
    case: &TestCase,
    dialect: &Dialect,
    statement: &CaseStatement,
    plan: &mut Instrumentation,
) {
    let mut locking = Vec::new();
    let mut plain = Vec::new();
    let mut after = Vec::new();
    for table_use in &statement.effect.uses {
        let Some(shape) = case.table(&table_use.table) else {
            continue;
        };
        let table = shape.name.clone();
        let mode = promised_mode(case, dialect, statement, table_use.role);
        let locks = mode == ReadMode::Current && dialect.supports(Capability::LockingRead);
        if table_use.role.is_target() {
            let sql = match locks {
                true => dialect.select_all_locking(shape, "update"),
                false => dialect.select_all(shape),
            };
            let before = Probe {
                tag: ProbeTag::BeforeWrite {
                    table: table.clone(),
                    locking: locks,
                },
                sql,
            };
            after.push(Probe {
                tag: ProbeTag::AfterWrite { table },
                sql: before.sql.clone(),
            });
            locking.insert(0, before);
        } else {
            let tag = ProbeTag::VersionSet {
                table,
                locking: locks,
            };
            if locks {
                locking.push(Probe {
                    tag,
                    sql: dialect.select_all_locking(shape, "share"),
                });
            } else {
                plain.push(Probe {
                    tag,
                    sql: dialect.select_all(shape),
                });
            }
        }
    }
    locking.extend(plain);
    if !locking.is_empty() {
        plan.before.entry(statement.id).or_default().extend(locking);
    }
    if !after.is_empty() {
        plan.after.insert(statement.id, after);
    }
}
