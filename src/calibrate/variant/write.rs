//! Forms of UPDATE, DELETE and INSERT.

use super::form::ProbedRow::{Child, Holder, Inserted, Parent, Source, Target};
use super::form::Sign::{Affected, Duplicate, Held, Nothing, Referenced, Then};
use super::form::{COUNTED, INSERTED, TAKEN, Variant, variant};
use crate::dialect::Capability;
use crate::model::Role;

pub(super) const UPDATES: &[Variant] = &[
    variant(
        Role::UpdateTarget,
        "by key",
        "UPDATE t SET c = c + 1000 WHERE pkey = 1",
        Target,
        COUNTED,
    ),
    variant(
        Role::UpdateTarget,
        "scan",
        "UPDATE t SET c = c + 1000 WHERE c < 1000",
        Target,
        COUNTED,
    ),
    variant(
        Role::UpdateTarget,
        "scan for the value",
        "UPDATE t SET c = c + 1000 WHERE c = {seen}",
        Target,
        Affected(1),
    )
    .passing_over(),
    variant(
        Role::UpdateTarget,
        "scan for the value before",
        "UPDATE t SET c = c + 1000 WHERE c = 1",
        Target,
        Nothing,
    ),
    variant(
        Role::UpdateTarget,
        "joined scan for the value before",
        "UPDATE t JOIN w ON w.pkey = t.pkey SET t.c = t.c + 1000 WHERE t.c = 1",
        Target,
        Nothing,
    )
    .needing(&[Capability::MultiTableUpdate]),
    variant(
        Role::DeleteTarget,
        "scan for the value before",
        "DELETE FROM t WHERE c = 1",
        Target,
        Nothing,
    ),
    variant(
        Role::UpdateTarget,
        "joined scan for the value",
        "UPDATE t JOIN w ON w.pkey = t.pkey SET t.c = t.c + 1000 WHERE t.c = {seen}",
        Target,
        Affected(1),
    )
    .passing_over()
    .needing(&[Capability::MultiTableUpdate]),
    variant(
        Role::UpdateTarget,
        "joined",
        "UPDATE t JOIN w ON w.pkey = t.pkey SET t.c = t.c + 1000 WHERE t.pkey = 1",
        Target,
        COUNTED,
    )
    .needing(&[Capability::MultiTableUpdate]),
    variant(
        Role::UpdateSource,
        "subquery in SET",
        "UPDATE t SET c = (SELECT u.c FROM u WHERE u.pkey = 1) WHERE pkey = 1",
        Source,
        TAKEN,
    ),
    variant(
        Role::UpdateSource,
        "subquery in EXISTS",
        "UPDATE t SET c = 7 WHERE pkey = 1 \
         AND EXISTS (SELECT 1 FROM u WHERE u.pkey = t.pkey AND u.c = {seen})",
        Source,
        Affected(1),
    ),
    variant(
        Role::UpdateSource,
        "subquery in IN",
        "UPDATE t SET c = 7 WHERE pkey = 1 AND pkey IN (SELECT u.pkey FROM u WHERE u.c = {seen})",
        Source,
        Affected(1),
    ),
    variant(
        Role::UpdateSource,
        "scalar subquery in WHERE",
        "UPDATE t SET c = 7 WHERE pkey = 1 AND (SELECT MAX(u.c) FROM u WHERE u.pkey = 1) = {seen}",
        Source,
        Affected(1),
    ),
    variant(
        Role::UpdateSource,
        "FROM",
        "UPDATE t SET c = u.c FROM u WHERE t.pkey = 1 AND u.pkey = 1",
        Source,
        TAKEN,
    )
    .needing(&[Capability::UpdateFrom]),
    variant(
        Role::UpdateJoinSource,
        "joined",
        "UPDATE t JOIN u ON u.pkey = t.pkey SET t.c = u.c WHERE t.pkey = 1",
        Source,
        TAKEN,
    )
    .needing(&[Capability::MultiTableUpdate]),
    variant(
        Role::UpdateJoinSource,
        "joined derived table",
        "UPDATE t JOIN (SELECT DISTINCT pkey, c FROM u) d ON d.pkey = t.pkey SET t.c = d.c \
         WHERE t.pkey = 1",
        Source,
        TAKEN,
    )
    .needing(&[Capability::MultiTableUpdate]),
    variant(
        Role::UpdateJoinSource,
        "subquery of an update over a join",
        "UPDATE t JOIN w ON w.pkey = t.pkey SET t.c = (SELECT u.c FROM u WHERE u.pkey = 1) \
         WHERE t.pkey = 1",
        Source,
        TAKEN,
    )
    .needing(&[Capability::MultiTableUpdate]),
];

pub(super) const DELETES: &[Variant] = &[
    variant(
        Role::DeleteTarget,
        "by key",
        "DELETE FROM t WHERE pkey = 1 AND c = {seen}",
        Target,
        Affected(1),
    ),
    variant(
        Role::DeleteTarget,
        "scan",
        "DELETE FROM t WHERE c = {seen}",
        Target,
        Affected(1),
    ),
    variant(
        Role::DeleteSource,
        "scalar subquery",
        "DELETE FROM t WHERE pkey = 1 AND (SELECT u.c FROM u WHERE u.pkey = 1) = {seen}",
        Source,
        Affected(1),
    ),
    variant(
        Role::DeleteSource,
        "subquery in EXISTS",
        "DELETE FROM t WHERE pkey = 1 \
         AND EXISTS (SELECT 1 FROM u WHERE u.pkey = t.pkey AND u.c = {seen})",
        Source,
        Affected(1),
    ),
    variant(
        Role::DeleteSource,
        "subquery in IN",
        "DELETE FROM t WHERE pkey = 1 AND pkey IN (SELECT u.pkey FROM u WHERE u.c = {seen})",
        Source,
        Affected(1),
    ),
    variant(
        Role::DeleteSource,
        "joined",
        "DELETE t FROM t JOIN u ON u.pkey = t.pkey WHERE t.pkey = 1 AND u.c = {seen}",
        Source,
        Affected(1),
    )
    .needing(&[Capability::MultiTableDelete]),
    variant(
        Role::DeleteSource,
        "USING",
        "DELETE FROM t USING u WHERE t.pkey = 1 AND u.pkey = 1 AND u.c = {seen}",
        Source,
        Affected(1),
    )
    .needing(&[Capability::DeleteUsing]),
];

/// By foreign keys: `child` references `parent`, `kept_child` goes with its row of `kept_parent`, and `holding_child` keeps its row
/// of `held_parent`.
pub(super) const FOREIGN_KEYS: &[Variant] = &[
    variant(
        Role::ForeignKeyCheck,
        "parent of a new row",
        "INSERT INTO child VALUES ({key}, {seen})",
        Parent,
        Referenced,
    )
    .needing(&[Capability::ForeignKey]),
    variant(
        Role::ForeignKeyCheck,
        "parent of a row that is moved",
        "UPDATE child SET c = {seen} WHERE pkey = 1",
        Parent,
        Referenced,
    )
    .needing(&[Capability::ForeignKey]),
    variant(
        Role::ForeignKeyChild,
        "child that keeps a row",
        "DELETE FROM held_parent WHERE pkey = {seen}",
        Holder,
        Held,
    )
    .needing(&[Capability::ForeignKey]),
    variant(
        Role::ForeignKeyChild,
        "child that keeps the key of a row",
        "UPDATE held_parent SET pkey = 900 WHERE pkey = {seen}",
        Holder,
        Held,
    )
    .needing(&[Capability::ForeignKey]),
    variant(
        Role::ForeignKeyTarget,
        "child of a deleted row",
        "DELETE FROM kept_parent WHERE pkey = {seen}",
        Child,
        Then("SELECT pkey FROM w WHERE pkey = 1 AND NOT EXISTS (SELECT 1 FROM kept_child AS k WHERE k.pkey = 1)"),
    )
    .needing(&[Capability::ForeignKey]),
    variant(
        Role::ForeignKeyTarget,
        "child of a row with another key",
        "UPDATE kept_parent SET pkey = 900 WHERE pkey = {seen}",
        Child,
        Then("SELECT pkey FROM kept_child WHERE pkey = 1 AND c = 900"),
    )
    .needing(&[Capability::ForeignKey]),
];

/// By triggers of the tables `adding` and `changing`.
pub(super) const TRIGGERS: &[Variant] = &[
    variant(
        Role::TriggerTarget,
        "row that a trigger inserts",
        "INSERT INTO adding VALUES ({key}, 7)",
        Inserted,
        Duplicate,
    )
    .needing(&[Capability::Trigger]),
    variant(
        Role::TriggerTarget,
        "row that a trigger updates",
        "INSERT INTO changing VALUES (1, 1)",
        Target,
        COUNTED,
    )
    .needing(&[Capability::Trigger]),
];

pub(super) const INSERTS: &[Variant] = &[
    variant(
        Role::InsertTarget,
        "values",
        "INSERT INTO t VALUES ({key}, 7)",
        Inserted,
        Duplicate,
    ),
    variant(
        Role::InsertTarget,
        "ignore",
        "INSERT IGNORE INTO t VALUES ({key}, 7)",
        Inserted,
        Nothing,
    )
    .needing(&[Capability::InsertIgnore]),
    variant(
        Role::InsertTarget,
        "on duplicate key",
        "INSERT INTO t VALUES ({key}, 7) ON DUPLICATE KEY UPDATE c = 8",
        Inserted,
        Then("SELECT pkey FROM t WHERE pkey = {key} AND c = 8"),
    )
    .needing(&[Capability::OnDuplicateKey]),
    variant(
        Role::InsertTarget,
        "on duplicate key, reading the row",
        "INSERT INTO t VALUES (1, 7) ON DUPLICATE KEY UPDATE c = c + 1000",
        Target,
        COUNTED,
    )
    .needing(&[Capability::OnDuplicateKey]),
    variant(
        Role::InsertTarget,
        "replace",
        "REPLACE INTO t VALUES ({key}, 7)",
        Inserted,
        Affected(2),
    )
    .needing(&[Capability::Replace, Capability::InsertIgnore]),
    variant(
        Role::InsertSelectSource,
        "insert",
        "INSERT INTO t SELECT {key}, u.c FROM u WHERE u.pkey = 1",
        Source,
        INSERTED,
    ),
    variant(
        Role::InsertSelectSource,
        "subquery of the query",
        "INSERT INTO t SELECT {key}, x.c FROM w x WHERE x.pkey = 1 \
         AND (SELECT u.c FROM u WHERE u.pkey = 1) = {seen}",
        Source,
        Affected(1),
    ),
    variant(
        Role::InsertSelectSource,
        "ignore",
        "INSERT IGNORE INTO t SELECT {key}, u.c FROM u WHERE u.pkey = 1",
        Source,
        INSERTED,
    )
    .needing(&[Capability::InsertIgnore]),
    variant(
        Role::InsertSelectSource,
        "replace",
        "REPLACE INTO t SELECT {key}, u.c FROM u WHERE u.pkey = 1",
        Source,
        INSERTED,
    )
    .needing(&[Capability::Replace]),
    variant(
        Role::InsertSelectSource,
        "on duplicate key",
        "INSERT INTO t SELECT {key}, u.c FROM u WHERE u.pkey = 1 ON DUPLICATE KEY UPDATE c = 8",
        Source,
        INSERTED,
    )
    .needing(&[Capability::OnDuplicateKey]),
    variant(
        Role::InsertValuesSource,
        "insert",
        "INSERT INTO t VALUES ({key}, (SELECT u.c FROM u WHERE u.pkey = 1))",
        Source,
        INSERTED,
    ),
    variant(
        Role::InsertValuesSource,
        "replace",
        "REPLACE INTO t VALUES ({key}, (SELECT u.c FROM u WHERE u.pkey = 1))",
        Source,
        INSERTED,
    )
    .needing(&[Capability::Replace]),
    variant(
        Role::InsertValuesSource,
        "on duplicate key",
        "INSERT INTO t VALUES (1, 7) ON DUPLICATE KEY UPDATE \
         c = (SELECT u.c FROM u WHERE u.pkey = 1)",
        Source,
        TAKEN,
    )
    .needing(&[Capability::OnDuplicateKey]),
];
