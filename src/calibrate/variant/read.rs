//! Forms of plain and locking reads, and of the queries that INSERT takes its rows from.

use super::form::ProbedRow::Source;
use super::form::Sign::Rows;
use super::form::{INSERTED, Variant, variant};
use crate::dialect::Capability;
use crate::model::Role;

pub(super) const READS: &[Variant] = &[
    variant(
        Role::PlainSelect,
        "by key",
        "SELECT pkey FROM u WHERE pkey = 1 AND c = {seen}",
        Source,
        Rows,
    ),
    variant(
        Role::PlainSelect,
        "scan",
        "SELECT pkey FROM u WHERE c = {seen}",
        Source,
        Rows,
    ),
    variant(
        Role::PlainSelect,
        "subquery",
        "SELECT pkey FROM t WHERE pkey = 1 AND (SELECT c FROM u WHERE pkey = 1) = {seen}",
        Source,
        Rows,
    ),
    variant(
        Role::PlainSelect,
        "derived table",
        "SELECT d.pkey FROM (SELECT DISTINCT pkey, c FROM u) d WHERE d.pkey = 1 AND d.c = {seen}",
        Source,
        Rows,
    ),
];

pub(super) const COMBINED_READS: &[Variant] = &[
    variant(
        Role::PlainSelect,
        "WITH",
        "WITH x AS (SELECT pkey, c FROM u) SELECT pkey FROM x WHERE pkey = 1 AND c = {seen}",
        Source,
        Rows,
    )
    .needing(&[Capability::Cte]),
    variant(
        Role::PlainSelect,
        "UNION",
        "SELECT pkey FROM w WHERE c = 77 UNION ALL SELECT pkey FROM u WHERE pkey = 1 AND c = {seen}",
        Source,
        Rows,
    ),
    variant(
        Role::PlainSelect,
        "aggregate",
        "SELECT MAX(c) FROM u HAVING MAX(c) = CASE WHEN {seen} > 3 THEN {seen} ELSE 3 END",
        Source,
        Rows,
    )
    .needing(&[Capability::LockingRead]),
    variant(
        Role::LockingSelectSource,
        "WITH",
        "WITH x AS (SELECT pkey, c FROM u) SELECT t.pkey FROM t JOIN x ON x.pkey = t.pkey \
         WHERE t.pkey = 1 AND x.c = {seen} {update}",
        Source,
        Rows,
    )
    .needing(&[Capability::Cte, Capability::LockingRead]),
    variant(
        Role::InsertSelectSource,
        "WITH",
        "INSERT INTO t WITH x AS (SELECT pkey, c FROM u) SELECT {key}, x.c FROM x WHERE x.pkey = 1",
        Source,
        INSERTED,
    )
    .needing(&[Capability::Cte]),
    variant(
        Role::InsertSelectSource,
        "UNION",
        "INSERT INTO t SELECT pkey, c FROM w WHERE c = 77 \
         UNION ALL SELECT {key}, c FROM u WHERE u.pkey = 1",
        Source,
        INSERTED,
    ),
    variant(
        Role::InsertSelectSource,
        "derived table",
        "INSERT INTO t SELECT {key}, d.c FROM (SELECT DISTINCT pkey, c FROM u) d WHERE d.pkey = 1",
        Source,
        INSERTED,
    ),
];

pub(super) const LOCKING_READS: &[Variant] = &[
    variant(
        Role::LockingSelect,
        "for update",
        "SELECT pkey FROM u WHERE pkey = 1 AND c = {seen} {update}",
        Source,
        Rows,
    )
    .needing(&[Capability::LockingRead]),
    variant(
        Role::LockingSelect,
        "for share",
        "SELECT pkey FROM u WHERE pkey = 1 AND c = {seen} {share}",
        Source,
        Rows,
    )
    .needing(&[Capability::LockingRead]),
    variant(
        Role::LockingSelect,
        "joined",
        "SELECT t.pkey FROM t JOIN u ON u.pkey = t.pkey WHERE t.pkey = 1 AND u.c = {seen} {update}",
        Source,
        Rows,
    )
    .needing(&[Capability::LockingRead]),
    variant(
        Role::LockingSelectSource,
        "joined, another is named",
        "SELECT t.pkey FROM t JOIN u ON u.pkey = t.pkey WHERE t.pkey = 1 AND u.c = {seen} {update} OF t",
        Source,
        Rows,
    )
    .needing(&[Capability::LockOf]),
    variant(
        Role::LockingSelect,
        "scan for the value",
        "SELECT pkey FROM u WHERE c = {seen} {update}",
        Source,
        Rows,
    )
    .needing(&[Capability::LockingRead]),
    variant(
        Role::LockingSelectSource,
        "subquery in the select list",
        "SELECT x.pkey, (SELECT u.c FROM u WHERE u.pkey = 1) FROM t x WHERE x.pkey = 1 \
         AND (SELECT u.c FROM u WHERE u.pkey = 1) = {seen} {update}",
        Source,
        Rows,
    )
    .needing(&[Capability::LockingRead]),
    variant(
        Role::LockingSelectSource,
        "subquery in EXISTS",
        "SELECT pkey FROM t WHERE pkey = 1 \
         AND EXISTS (SELECT 1 FROM u WHERE u.pkey = t.pkey AND u.c = {seen}) {update}",
        Source,
        Rows,
    )
    .needing(&[Capability::LockingRead]),
    variant(
        Role::LockingSelectSource,
        "derived table",
        "SELECT t.pkey FROM t JOIN (SELECT pkey, c FROM u) d ON d.pkey = t.pkey \
         WHERE t.pkey = 1 AND d.c = {seen} {update}",
        Source,
        Rows,
    )
    .needing(&[Capability::LockingRead, Capability::UnlockedDerivedTable]),
    variant(
        Role::LockingSelectSource,
        "derived table that must be stored",
        "SELECT t.pkey FROM t JOIN (SELECT DISTINCT pkey, c FROM u) d ON d.pkey = t.pkey \
         WHERE t.pkey = 1 AND d.c = {seen} {share}",
        Source,
        Rows,
    )
    .needing(&[Capability::LockingRead, Capability::UnlockedDerivedTable]),
];
