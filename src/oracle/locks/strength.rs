//! How strongly reads and writes lock rows, at least.

use crate::dialect::LockingWrite;
use crate::model::{CaseStatement, Effect, LockStrength, ReadMode, Role, Row};
use crate::observe::{Change, VersionId};
use crate::oracle::Evidence;

/// The lock that a statement takes of what it finds: a read by its weakest clause, and a shared one
/// without a clause, as a write does of tables that it reads and does not write.
pub(super) fn of_search(effect: &Effect) -> LockStrength {
    if effect.kind.is_write() {
        return match effect.uses.iter().all(|used| used.role.is_target()) {
            true => LockStrength::Update,
            false => LockStrength::Share,
        };
    }
    effect.lock.unwrap_or(LockStrength::Share)
}

/// Whether a read that locks so has to wait for whoever made this version.
pub(super) fn excludes_writer(evidence: &Evidence, read: LockStrength, version: VersionId) -> bool {
    let writer = evidence.account.chains.version(version).writer;
    let changes = evidence.account.changes.get(&writer);
    let change = changes.and_then(|changes| changes.iter().find(|change| change.after == version));
    change.is_some_and(|change| excludes_change(evidence, read, change))
}

/// Whether a change and a read that locks so exclude each other.
pub(super) fn excludes_change(evidence: &Evidence, read: LockStrength, change: &Change) -> bool {
    let chains = &evidence.account.chains;
    let before = change.before.and_then(|before| chains.row(before));
    let kind = match (before, chains.row(change.after)) {
        (_, None) => LockingWrite::Delete,
        (Some(before), Some(after)) if moves_a_key(evidence, &change.table, before, after) => {
            LockingWrite::UpdateOfKey
        }
        (_, Some(_)) => LockingWrite::Update,
    };
    let rules = &evidence.dialect.lock_rules;
    rules.exclude(read, rules.of_write(kind))
}

/// Whether a row has another value of a unique key than before: of one that a foreign key could reference (PostgreSQL
/// manual, "Explicit Locking", "FOR UPDATE"), not of an exclusion constraint.
fn moves_a_key(evidence: &Evidence, table: &str, before: &Row, after: &Row) -> bool {
    let Some(shape) = evidence.case.table(table) else {
        return false;
    };
    let keys = shape.unique_keys.iter().flatten();
    let differs = |at: usize| before.get(at) != after.get(at);
    keys.filter_map(|name| shape.column(name)).any(differs)
}

/// Whether a read locks nothing but what its lock clause names: `FOR UPDATE OF a SKIP LOCKED` reads the others as a plain
/// SELECT does, which locks them at InnoDB's SERIALIZABLE.
pub(super) fn is_of_its_clause_alone(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let mut uses = statement.effect.uses.iter();
    uses.all(|used| {
        used.role == Role::LockingSelect
            || evidence.promised_mode(statement, used.role) != ReadMode::Current
    })
}
