//! The statements that are probed: for each role, the forms in which a table may stand in it.
//!
//! `{seen}` is the value that the statement looks for, `{key}` a row key that is not in the table,
//! `{update}` and `{share}` are the dialect's lock clauses.

mod form;
mod read;
mod write;

use self::read::{COMBINED_READS, LOCKING_READS, READS};
use self::write::{DELETES, FOREIGN_KEYS, INSERTS, TRIGGERS, UPDATES};

pub(super) use self::form::{Sign, Variant};

/// Every form.
pub(super) const VARIANTS: &[&[Variant]] = &[
    READS,
    COMBINED_READS,
    LOCKING_READS,
    UPDATES,
    DELETES,
    INSERTS,
    FOREIGN_KEYS,
    TRIGGERS,
];

#[cfg(test)]
mod tests {
    use super::form::ProbedRow;
    use super::*;
    use crate::calibrate::schema::schema;
    use crate::dialect::{BUILTIN, ServerVersion, parse};
    use crate::model::{Role, SetupKind, SetupStatement};
    use crate::statement::Catalog;

    /// A probe stands for its role only if the analysis of statements gives it that role.
    #[test]
    fn every_form_has_the_role_it_stands_for() {
        let mut proved = 0;
        for (name, text) in BUILTIN {
            let dialect = parse(name, text, &ServerVersion(vec![99])).expect(name);
            let made = schema(&dialect).into_iter();
            let kind = SetupKind::Schema;
            let setup: Vec<_> = made.map(|sql| SetupStatement { sql, kind }).collect();
            for form in VARIANTS.iter().copied().flatten() {
                let is_spelled = form.unspelled_clause(&dialect).is_none();
                if !is_spelled || !form.needs.iter().all(|need| dialect.supports(*need)) {
                    continue;
                }
                let clause = |name| dialect.spelling.lock_clauses.get(name).cloned();
                let sql = form
                    .sql
                    .replace("{seen}", "101")
                    .replace("{key}", "900")
                    .replace("{update}", &clause("update").unwrap_or_default())
                    .replace("{share}", &clause("share").unwrap_or_default());
                let table = match form.subject {
                    ProbedRow::Source => "u",
                    ProbedRow::Target | ProbedRow::Inserted => "t",
                    ProbedRow::Parent => "parent",
                    ProbedRow::Child => "kept_child",
                    ProbedRow::Holder => "holding_child",
                };
                let catalog = Catalog::of(&setup, &dialect);
                let effect = catalog.effect(&sql, &dialect);
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
