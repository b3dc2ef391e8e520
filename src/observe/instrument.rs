//! What to add to a run so that row versions can be learned from it. A pure function of the case.

use std::collections::BTreeSet;

use super::Learner;
use crate::dialect::{Capability, Dialect, ObserverKind, RejectionEnd, SnapshotPoint};
use crate::execute::{Instrumentation, Probe, ReturningWrite};
use crate::model::{
    CaseStatement, Doubt, ErrorClass, ProbeTag, ReadMode, Role, StatementKind, TableShape,
    TableUse, TestCase, TransactionId,
};
use crate::statement::{matched_rows, with_returning};

/// The instrumentation of a case for one learner.
pub fn instrument(case: &TestCase, dialect: &Dialect, learner: Learner) -> Instrumentation {
    let mut plan = Instrumentation::default();
    if dialect.snapshot_point == SnapshotPoint::FirstConsistentRead {
        fix_snapshot_points(case, dialect, &mut plan);
    }
    for statement in &case.statements {
        match learner {
            Learner::Observer if dialect.observer == ObserverKind::Returning => {
                returning(case, dialect, statement, &mut plan);
            }
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
pub fn promised_mode(
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
        let through_snapshot = effect.uses.iter().filter(|u| {
            promised_mode(case, dialect, statement, u.role) == ReadMode::TransactionSnapshot
        });
        let mut through_snapshot = through_snapshot.peekable();
        if through_snapshot.peek().is_none() && effect.kind != StatementKind::Opaque {
            continue;
        }
        fixed.insert(id.transaction);
        // Of a table that the statement uses itself: DDL of another one would wait for our read alone.
        let own = through_snapshot.find_map(|u| case.table(&u.table));
        let Some(table) = own.or_else(|| case.tables.first()) else {
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

/// Has a write return the rows of its target, and reads behind it the tables that a foreign key has it change. One
/// of which that cannot be said is left as it is, and learning says what it misses.
fn returning(
    case: &TestCase,
    dialect: &Dialect,
    statement: &CaseStatement,
    plan: &mut Instrumentation,
) {
    let effect = &statement.effect;
    let is_reached = |used: &&TableUse| used.role == Role::ForeignKeyTarget;
    let (reached, named): (Vec<&TableUse>, Vec<&TableUse>) = effect
        .uses
        .iter()
        .filter(|used| used.role.is_target())
        .partition(is_reached);
    let [target] = named.as_slice() else {
        return;
    };
    let target = target.table.as_str();
    let Some(shape) = case.table(target).filter(|_| !effect.narrowed_target) else {
        return;
    };
    // Rows that only the key leads to are returned by nobody, and where a read may refuse a transaction none is added.
    let level = case.level(statement.session);
    let may_read = !dialect.serialization_cause(level).is_free();
    if reached.iter().any(|used| used.table == target || !may_read) {
        return;
    }
    if let Some(text) = with_returning(&statement.sql, shape, dialect) {
        // Without the row as it was nothing tells which one has the new key.
        let assigned = |key: &String| {
            let column = shape.column(key).map(|at| &shape.columns[at]);
            let is_computed = column.is_some_and(|column| column.generated);
            effect.assigns(target, key) || (is_computed && effect.kind != StatementKind::Insert)
        };
        if shape.row_key.as_ref().is_some_and(assigned) && !text.has_old {
            return;
        }
        let reached = reached.iter().filter_map(|used| case.table(&used.table));
        let after: Vec<Probe> = reached
            .map(|shape| after_write(case, dialect, statement, shape))
            .collect();
        if !after.is_empty() {
            plan.after.insert(statement.id, after);
        }
        let tag = ProbeTag::Returned {
            table: shape.name.clone(),
        };
        let returning = ReturningWrite {
            probe: Probe { tag, sql: text.sql },
            columns: shape.columns.len() * (1 + usize::from(text.has_old))
                + usize::from(text.has_action),
            has_own: text.has_own,
        };
        plan.returning.insert(statement.id, returning);
    }
}

/// Probes around one statement, each in the mode of the role it stands for.
///
/// Whatever reads current rows locks them. Where a plain read does not, nothing is locked but what the
/// statement itself will lock: the rows that a write matches are asked for by its own condition, and
/// left to the promise of the level where that would wait; so are tables that it merely reads as they
/// stand. Where even a plain read locks, the tables are locked whole.
///
/// Order: the target, locking reads of sources, then the plain reads, so that no probe that may wait
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
    let plain_mode = promised_mode(case, dialect, statement, Role::PlainSelect);
    let plain_locks = plain_mode == ReadMode::Current;
    for table_use in &statement.effect.uses {
        let Some(shape) = case.table(&table_use.table) else {
            continue;
        };
        let mode = promised_mode(case, dialect, statement, table_use.role);
        let current = mode == ReadMode::Current && dialect.supports(Capability::LockingRead);
        let is_target = table_use.role.is_target();
        if is_target {
            after.push(after_write(case, dialect, statement, shape));
        }
        if !current && shows(plain_mode, mode) {
            plain.push(version_set(dialect, shape, None));
        } else if !current {
            // No read that locks nothing shows it: the promise of the level stands.
        } else if plain_locks && is_target {
            locking.insert(0, version_set(dialect, shape, Some("update")));
        } else if plain_locks {
            locking.push(version_set(dialect, shape, Some("share")));
        } else if is_target {
            locking.extend(before_write(dialect, statement, shape));
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

/// Whether a plain read shows what a table shows that is read in this mode.
fn shows(plain: ReadMode, mode: ReadMode) -> bool {
    let is_newer = matches!(mode, ReadMode::StatementSnapshot | ReadMode::EitherSnapshot);
    !(plain == ReadMode::TransactionSnapshot && is_newer)
}

/// The whole of a table, under a lock clause where one is named.
fn version_set(dialect: &Dialect, shape: &TableShape, clause: Option<&str>) -> Probe {
    Probe {
        tag: ProbeTag::VersionSet {
            table: shape.name.clone(),
            locking: clause.is_some(),
        },
        sql: match clause {
            Some(clause) => dialect.select_all_locking(shape, clause),
            None => dialect.select_all(shape),
        },
    }
}

/// The whole of a table as a plain read of the write's transaction shows it, locked where that locks.
fn after_write(
    case: &TestCase,
    dialect: &Dialect,
    statement: &CaseStatement,
    shape: &TableShape,
) -> Probe {
    let mut mode = promised_mode(case, dialect, statement, Role::PlainSelect);
    if mode == ReadMode::TransactionSnapshot && !case.is_explicit(statement.id.transaction) {
        // The read is a transaction of its own.
        mode = ReadMode::StatementSnapshot;
    }
    let locks = mode == ReadMode::Current && dialect.supports(Capability::LockingRead);
    Probe {
        tag: ProbeTag::AfterWrite {
            table: shape.name.clone(),
            mode,
        },
        sql: match locks {
            true => dialect.select_all_locking(shape, "update"),
            false => dialect.select_all(shape),
        },
    }
}

/// The rows that a write of one table matches, without waiting for them. None where its condition looks
/// at another table, which a query reads in another mode, or where being refused ends the transaction.
fn before_write(dialect: &Dialect, statement: &CaseStatement, shape: &TableShape) -> Option<Probe> {
    let refused = dialect.ends_transaction(ErrorClass::LockTimeout);
    let [_] = statement.effect.uses.as_slice() else {
        return None;
    };
    if !dialect.supports(Capability::Nowait) || refused != RejectionEnd::Never {
        return None;
    }
    let columns = dialect.column_list(shape);
    let query = matched_rows(&statement.sql, &columns, dialect)?;
    let clause = dialect.spelling.lock_clauses.get("update-nowait")?;
    Some(Probe {
        tag: ProbeTag::BeforeWrite {
            table: shape.name.clone(),
        },
        sql: format!("{query} {clause}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::dialect_of;
    use crate::reproducer::case_of;

    #[test]
    fn the_read_that_takes_a_snapshot_is_of_a_table_that_the_statement_uses() {
        let dialect = dialect_of("mysql", "9.7.0");
        let text = "/* init */ CREATE TABLE t (pkey INT PRIMARY KEY);\n\
            /* init */ CREATE TABLE u (pkey INT PRIMARY KEY);\n\
            /* s1 */ BEGIN;\n\
            /* s1 */ SELECT * FROM u WHERE pkey > 4;\n\
            /* s1 */ SELECT * FROM t;\n\
            /* s1 */ COMMIT;\n";
        let case = case_of(text, &dialect);
        let plan = instrument(&case, &dialect, Learner::Observer);
        let probes = plan.before.values().flatten();
        let reads: Vec<&str> = probes.map(|probe| probe.sql.as_str()).collect();
        assert_eq!(reads, ["SELECT 1 FROM `u` LIMIT 1"]);
    }
}
