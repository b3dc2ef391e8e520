//! The statements that are probed: for each role, the forms in which a table may stand in it.
//!
//! `{seen}` is the value that the statement looks for, `{key}` a row key that is not in the table,
//! `{update}` and `{share}` are the dialect's lock clauses.

mod read;
mod write;

use self::read::{COMBINED_READS, LOCKING_READS, READS};
use self::write::{DELETES, INSERTS, UPDATES};
use crate::dialect::Capability;
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
    pub(super) needs: &'static [Capability],
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
    const fn needing(mut self, needs: &'static [Capability]) -> Self {
        self.needs = needs;
        self
    }

    const fn passing_over(mut self) -> Self {
        self.may_pass_over = true;
        self
    }
}

use Sign::Then;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{BUILTIN, ServerVersion, parse};
    use crate::statement::analyze;

    /// A probe stands for its role only if the analysis of statements gives it that role.
    #[test]
    fn every_form_has_the_role_it_stands_for() {
        let mut proved = 0;
        for (name, text) in BUILTIN {
            let dialect = parse(name, text, &ServerVersion(vec![99])).expect(name);
            for form in VARIANTS.iter().copied().flatten() {
                if !form.needs.iter().all(|need| dialect.supports(*need)) {
                    continue;
                }
                let clause = |name| dialect.spelling.lock_clauses.get(name).cloned();
                let sql = form
                    .sql
                    .replace("{seen}", "101")
                    .replace("{key}", "900")
                    .replace("{update}", &clause("update").unwrap_or_default())
                    .replace("{share}", &clause("share").unwrap_or_default());
                let table = if form.subject == Subject::Source {
                    "u"
                } else {
                    "t"
                };
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
