//! The statements that are probed: for each role, the forms in which a table may stand in it.
//!
//! `{seen}` is the value that the statement looks for, `{key}` a row key that is not in the table,
//! `{update}` and `{share}` are the dialect's lock clauses.

use crate::model::Role;

/// What the other session changes while the statement runs or before it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// Row 1 of the source.
    Source,
    /// Row 1 of the target.
    Target,
    /// A new row of the target, with the key `{key}`.
    Inserted,
}

impl Subject {
    /// Gives the subject this value.
    pub(super) fn write(self, value: i64, key: i64) -> String {
        match self {
            Self::Source => format!("UPDATE u SET c = {value} WHERE pkey = 1"),
            Self::Target => format!("UPDATE t SET c = {value} WHERE pkey = 1"),
            Self::Inserted => format!("INSERT INTO t VALUES ({key}, {value})"),
        }
    }
}

/// What tells that the statement saw the value it looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// It returned a row.
    Rows,
    /// It changed this many rows, as the engine counts.
    Affected(u64),
    /// It changed none.
    Nothing,
    /// It was rejected for a duplicate key.
    Duplicate,
    /// This query, asked next in the same session, returns a row.
    Then(&'static str),
}

/// One form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variant {
    pub(super) role: Role,
    /// The form, for people.
    pub(super) form: &'static str,
    /// Capabilities of the dialect without which it cannot be written.
    pub(super) needs: &'static [&'static str],
    pub(super) sql: &'static str,
    pub(super) subject: Subject,
    pub(super) sign: Sign,
    /// The newest committed version may be found unfit and passed over without a wait, at levels
    /// where InnoDB does so (its manual calls the read semi-consistent).
    pub(super) may_pass_over: bool,
}

const fn variant(
    role: Role,
    form: &'static str,
    sql: &'static str,
    subject: Subject,
    sign: Sign,
) -> Variant {
    Variant {
        role,
        form,
        needs: &[],
        sql,
        subject,
        sign,
        may_pass_over: false,
    }
}

impl Variant {
    const fn needing(mut self, needs: &'static [&'static str]) -> Self {
        self.needs = needs;
        self
    }

    const fn passing_over(mut self) -> Self {
        self.may_pass_over = true;
        self
    }
}

use Sign::{Affected, Duplicate, Nothing, Rows, Then};
use Subject::{Inserted, Source, Target};

/// Row 1 of the target took its value from the source.
const TAKEN: Sign = Then("SELECT pkey FROM t WHERE pkey = 1 AND c = {seen}");

/// Row 1 of the target was counted up from the value.
const COUNTED: Sign = Then("SELECT pkey FROM t WHERE pkey = 1 AND c = {seen} + 1000");

/// The new row of the target took its value from the source.
const INSERTED: Sign = Then("SELECT pkey FROM t WHERE pkey = {key} AND c = {seen}");

/// Every form.
pub(super) const VARIANTS: &[&[Variant]] = &[
    READS,
    COMBINED_READS,
    LOCKING_READS,
    UPDATES,
    DELETES,
    INSERTS,
];

const READS: &[Variant] = &[
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

const COMBINED_READS: &[Variant] = &[
    variant(
        Role::PlainSelect,
        "WITH",
        "WITH x AS (SELECT pkey, c FROM u) SELECT pkey FROM x WHERE pkey = 1 AND c = {seen}",
        Source,
        Rows,
    )
    .needing(&["cte"]),
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
        "SELECT MAX(c) FROM u HAVING MAX(c) = GREATEST({seen}, 3)",
        Source,
        Rows,
    )
    .needing(&["locking-read"]),
    variant(
        Role::LockingSelectSource,
        "WITH",
        "WITH x AS (SELECT pkey, c FROM u) SELECT t.pkey FROM t JOIN x ON x.pkey = t.pkey \
         WHERE t.pkey = 1 AND x.c = {seen} {update}",
        Source,
        Rows,
    )
    .needing(&["cte", "locking-read"]),
    variant(
        Role::InsertSelectSource,
        "WITH",
        "INSERT INTO t WITH x AS (SELECT pkey, c FROM u) SELECT {key}, x.c FROM x WHERE x.pkey = 1",
        Source,
        INSERTED,
    )
    .needing(&["cte"]),
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

const LOCKING_READS: &[Variant] = &[
    variant(
        Role::LockingSelect,
        "for update",
        "SELECT pkey FROM u WHERE pkey = 1 AND c = {seen} {update}",
        Source,
        Rows,
    )
    .needing(&["locking-read"]),
    variant(
        Role::LockingSelect,
        "for share",
        "SELECT pkey FROM u WHERE pkey = 1 AND c = {seen} {share}",
        Source,
        Rows,
    )
    .needing(&["locking-read"]),
    variant(
        Role::LockingSelect,
        "joined",
        "SELECT t.pkey FROM t JOIN u ON u.pkey = t.pkey WHERE t.pkey = 1 AND u.c = {seen} {update}",
        Source,
        Rows,
    )
    .needing(&["locking-read"]),
    variant(
        Role::LockingSelect,
        "scan for the value",
        "SELECT pkey FROM u WHERE c = {seen} {update}",
        Source,
        Rows,
    )
    .needing(&["locking-read"]),
    variant(
        Role::LockingSelectSource,
        "subquery in the select list",
        "SELECT x.pkey, (SELECT u.c FROM u WHERE u.pkey = 1) FROM t x WHERE x.pkey = 1 \
         AND (SELECT u.c FROM u WHERE u.pkey = 1) = {seen} {update}",
        Source,
        Rows,
    )
    .needing(&["locking-read"]),
    variant(
        Role::LockingSelectSource,
        "subquery in EXISTS",
        "SELECT pkey FROM t WHERE pkey = 1 \
         AND EXISTS (SELECT 1 FROM u WHERE u.pkey = t.pkey AND u.c = {seen}) {update}",
        Source,
        Rows,
    )
    .needing(&["locking-read"]),
    variant(
        Role::LockingSelectSource,
        "derived table",
        "SELECT t.pkey FROM t JOIN (SELECT pkey, c FROM u) d ON d.pkey = t.pkey \
         WHERE t.pkey = 1 AND d.c = {seen} {update}",
        Source,
        Rows,
    )
    .needing(&["locking-read"]),
    variant(
        Role::LockingSelectSource,
        "derived table that must be stored",
        "SELECT t.pkey FROM t JOIN (SELECT DISTINCT pkey, c FROM u) d ON d.pkey = t.pkey \
         WHERE t.pkey = 1 AND d.c = {seen} {share}",
        Source,
        Rows,
    )
    .needing(&["locking-read"]),
];

const UPDATES: &[Variant] = &[
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
    .needing(&["multi-table-update"]),
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
    .needing(&["multi-table-update"]),
    variant(
        Role::UpdateTarget,
        "joined",
        "UPDATE t JOIN w ON w.pkey = t.pkey SET t.c = t.c + 1000 WHERE t.pkey = 1",
        Target,
        COUNTED,
    )
    .needing(&["multi-table-update"]),
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
    .needing(&["update-from"]),
    variant(
        Role::UpdateJoinSource,
        "joined",
        "UPDATE t JOIN u ON u.pkey = t.pkey SET t.c = u.c WHERE t.pkey = 1",
        Source,
        TAKEN,
    )
    .needing(&["multi-table-update"]),
    variant(
        Role::UpdateJoinSource,
        "joined derived table",
        "UPDATE t JOIN (SELECT DISTINCT pkey, c FROM u) d ON d.pkey = t.pkey SET t.c = d.c \
         WHERE t.pkey = 1",
        Source,
        TAKEN,
    )
    .needing(&["multi-table-update"]),
    variant(
        Role::UpdateJoinSource,
        "subquery of an update over a join",
        "UPDATE t JOIN w ON w.pkey = t.pkey SET t.c = (SELECT u.c FROM u WHERE u.pkey = 1) \
         WHERE t.pkey = 1",
        Source,
        TAKEN,
    )
    .needing(&["multi-table-update"]),
];

const DELETES: &[Variant] = &[
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
    .needing(&["multi-table-delete"]),
];

const INSERTS: &[Variant] = &[
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
    .needing(&["insert-ignore"]),
    variant(
        Role::InsertTarget,
        "on duplicate key",
        "INSERT INTO t VALUES ({key}, 7) ON DUPLICATE KEY UPDATE c = 8",
        Inserted,
        Then("SELECT pkey FROM t WHERE pkey = {key} AND c = 8"),
    )
    .needing(&["on-duplicate-key"]),
    variant(
        Role::InsertTarget,
        "on duplicate key, reading the row",
        "INSERT INTO t VALUES (1, 7) ON DUPLICATE KEY UPDATE c = c + 1000",
        Target,
        COUNTED,
    )
    .needing(&["on-duplicate-key"]),
    variant(
        Role::InsertTarget,
        "replace",
        "REPLACE INTO t VALUES ({key}, 7)",
        Inserted,
        Affected(2),
    )
    .needing(&["replace", "insert-ignore"]),
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
    .needing(&["insert-ignore"]),
    variant(
        Role::InsertSelectSource,
        "replace",
        "REPLACE INTO t SELECT {key}, u.c FROM u WHERE u.pkey = 1",
        Source,
        INSERTED,
    )
    .needing(&["replace"]),
    variant(
        Role::InsertSelectSource,
        "on duplicate key",
        "INSERT INTO t SELECT {key}, u.c FROM u WHERE u.pkey = 1 ON DUPLICATE KEY UPDATE c = 8",
        Source,
        INSERTED,
    )
    .needing(&["on-duplicate-key"]),
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
    .needing(&["replace"]),
    variant(
        Role::InsertValuesSource,
        "on duplicate key",
        "INSERT INTO t VALUES (1, 7) ON DUPLICATE KEY UPDATE \
         c = (SELECT u.c FROM u WHERE u.pkey = 1)",
        Source,
        TAKEN,
    )
    .needing(&["on-duplicate-key"]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{BUILTIN, Version, parse};
    use crate::statement::analyze;

    /// A probe stands for its role only if the analysis of statements gives it that role.
    #[test]
    fn every_form_has_the_role_it_stands_for() {
        let mut proved = 0;
        for (name, text) in BUILTIN {
            let dialect = parse(name, text, &Version(vec![99])).expect(name);
            for form in VARIANTS.iter().copied().flatten() {
                if !form.needs.iter().all(|need| dialect.supports(need)) {
                    continue;
                }
                let clause = |name| dialect.spelling.lock_clauses.get(name).cloned();
                let sql = form
                    .sql
                    .replace("{seen}", "101")
                    .replace("{key}", "900")
                    .replace("{update}", &clause("update").unwrap_or_default())
                    .replace("{share}", &clause("share").unwrap_or_default());
                let table = if form.subject == Source { "u" } else { "t" };
                let effect = analyze(&sql, &dialect);
                let roles: Vec<Role> = effect
                    .uses
                    .iter()
                    .filter(|used| used.table == table)
                    .map(|used| used.role)
                    .collect();
                assert_eq!(roles, [form.role], "{name}: {sql}");
                proved += 1;
            }
        }
        assert!(proved > 60, "{proved}");
    }

    #[test]
    fn every_role_has_a_form() {
        for role in Role::ALL {
            let has = VARIANTS
                .iter()
                .copied()
                .flatten()
                .any(|form| form.role == role);
            assert!(has, "{role}");
        }
    }
}
