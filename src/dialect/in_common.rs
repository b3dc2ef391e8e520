//! What two servers have in common: what both take, and the levels at which both promise the same.

use std::collections::BTreeMap;

use super::{Capability, Dialect, TypeSpec};
use crate::model::{IsolationLevel, Role};

/// Why cases of one server cannot be run on another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NothingInCommon {
    #[error("{0} and {1} do not read the same SQL")]
    Sql(String, String),
    #[error("{0} and {1} share no column type")]
    Types(String, String),
    #[error(
        "{0} and {1} promise the same at no isolation level: {2}. A variable of the servers that differs may \
         be why: `when` in their dialect file names those that count"
    )]
    Levels(String, String, String),
}

impl Dialect {
    /// This dialect without what the other server does not take, and without the levels at which the other
    /// promises something else: what it draws can be run on both, and should give the same.
    ///
    /// # Errors
    /// When nothing is left to draw.
    pub fn in_common(&self, other: &Self) -> Result<Self, NothingInCommon> {
        let (one, two) = (self.engine.clone(), other.engine.clone());
        if self.spelling.parser != other.spelling.parser {
            return Err(NothingInCommon::Sql(one, two));
        }
        let mut common = self.clone();
        common
            .capabilities
            .retain(|capability| other.supports(*capability));
        // What is not drawn for a heap is not drawn where one of the two is one.
        let heap = Capability::HeapTables;
        if self.supports(heap) || other.supports(heap) {
            common.capabilities.insert(heap);
        }
        common.types = self.types.iter().filter_map(|t| other.draws(t)).collect();
        if common.types.is_empty() {
            return Err(NothingInCommon::Types(one, two));
        }
        let extra = self.extra_types.iter();
        common.extra_types = extra.filter_map(|spec| other.draws(spec)).collect();
        let spelling = &mut common.spelling;
        spelling.prepared = spelling
            .prepared
            .take()
            .filter(|_| other.spelling.prepared.is_some());
        spelling
            .begin
            .retain(|name, text| other.spelling.begin.get(name) == Some(text));
        spelling
            .lock_clauses
            .retain(|name, text| other.spelling.lock_clauses.get(name) == Some(text));
        common
            .plan_settings
            .retain(|setting| other.plan_settings.contains(setting));
        let apart = self.levels_apart(other);
        common.levels.retain(|level| !apart.contains_key(level));
        if common.levels.is_empty() {
            let reasons = apart.iter();
            let reasons = reasons.map(|(level, reason)| format!("{}: {reason}", level.slug()));
            let reasons: Vec<String> = reasons.collect();
            return Err(NothingInCommon::Levels(one, two, reasons.join("; ")));
        }
        Ok(common)
    }

    /// A type of another dialect with the values that both have; none where this one lacks it.
    fn draws(&self, spec: &TypeSpec) -> Option<TypeSpec> {
        let mut own = self.types.iter().chain(&self.extra_types);
        let is_same = |own: &&TypeSpec| {
            own.sql == spec.sql && own.class == spec.class && own.collation == spec.collation
        };
        let own = own.find(is_same)?;
        let literals = spec.literals.iter();
        let literals: Vec<String> = literals
            .filter(|literal| own.literals.contains(literal))
            .cloned()
            .collect();
        let is_whole = spec.closed == own.closed && !literals.is_empty();
        is_whole.then(|| TypeSpec {
            indexable: spec.indexable && own.indexable,
            always_nullable: spec.always_nullable || own.always_nullable,
            literals,
            too_long: spec
                .too_long
                .clone()
                .filter(|_| spec.too_long == own.too_long),
            ..spec.clone()
        })
    }

    /// The levels at which another server promises something else, weakest first, each with what that is.
    pub fn levels_apart(&self, other: &Self) -> BTreeMap<IsolationLevel, &'static str> {
        let levels = self.levels.iter();
        levels
            .filter_map(|level| Some((*level, self.promises_otherwise(other, *level)?)))
            .collect()
    }

    /// What two servers promise otherwise at a level, in a phrase; none where a case of this level should
    /// wait, answer and end alike on both.
    pub fn promises_otherwise(&self, other: &Self, level: IsolationLevel) -> Option<&'static str> {
        if !other.levels.contains(&level) {
            return Some("only one of them has it");
        }
        let reads = |dialect: &Self| -> Vec<_> {
            let roles = Role::ALL.into_iter();
            roles
                .flat_map(|role| [true, false].map(|open| dialect.read_mode(level, role, open)))
                .collect()
        };
        if reads(self) != reads(other) || self.snapshot_point != other.snapshot_point {
            return Some("they read other versions of rows");
        }
        let locks = |dialect: &Self| {
            let absent = dialect.locks_absent_keys.contains(&level);
            (
                dialect.lock_reach(level),
                absent,
                dialect.lock_rules.clone(),
            )
        };
        if locks(self) != locks(other) {
            return Some("they lock other rows");
        }
        if self.promise(level) != other.promise(level) {
            return Some("they promise other consistency models");
        }
        let refuses = |dialect: &Self| dialect.serialization_cause(level);
        if refuses(self) != refuses(other) || self.ends_transaction != other.ends_transaction {
            return Some("they refuse, or end transactions, for other reasons");
        }
        let after_waits = |dialect: &Self| {
            (
                dialect.mixes_after_wait.contains(&level),
                dialect.re_evaluates_after_wait.contains(&level),
                dialect.begins_anew_after_wait.contains(&level),
            )
        };
        if after_waits(self) != after_waits(other) {
            return Some("they read otherwise after a wait");
        }
        (self.equal_savepoints != other.equal_savepoints)
            .then_some("a savepoint of a name that is taken means something else")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{dialect_of as dialect, dialect_with};

    #[test]
    fn two_versions_draw_what_the_older_one_takes() {
        let (old, new) = (dialect("mariadb", "10.5.0"), dialect("mariadb", "11.8.0"));
        for common in [old.in_common(&new), new.in_common(&old)] {
            let common = common.expect("they have much in common");
            assert!(!common.supports(Capability::SkipLocked));
            assert!(common.supports(Capability::Cte));
            assert_eq!(common.types, old.types);
            assert_eq!(common.levels, old.levels);
        }
    }

    #[test]
    fn products_are_compared_at_levels_of_equal_promises_only() {
        let (mysql, tidb) = (dialect("mysql", "9.7.0"), dialect("tidb", "8.5.4"));
        // A BEGIN takes TiDB's snapshot.
        for level in [IsolationLevel::RepeatableRead, IsolationLevel::Serializable] {
            assert!(mysql.promises_otherwise(&tidb, level).is_some());
        }
        assert!(
            mysql
                .promises_otherwise(&mysql, IsolationLevel::ReadCommitted)
                .is_none()
        );
    }

    #[test]
    fn a_variable_that_changes_a_promise_parts_two_servers_of_one_version() {
        let [off, on] = ["OFF", "ON"].map(|value| {
            dialect_with("mariadb", "11.8.0", &[("innodb_snapshot_isolation", value)])
        });
        for level in &off.levels {
            assert!(off.promises_otherwise(&on, *level).is_some(), "{level:?}");
        }
        let error = off.in_common(&on).expect_err("nothing is left").to_string();
        assert!(error.contains("serializable: they refuse"), "{error}");
    }

    #[test]
    fn other_sql_is_refused() {
        let (mysql, postgres) = (dialect("mysql", "9.7.0"), dialect("postgres", "18.0"));
        let error = mysql.in_common(&postgres).expect_err("other SQL");
        assert!(matches!(error, NothingInCommon::Sql(..)), "{error}");
    }

    #[test]
    fn a_heap_of_either_counts() {
        let mariadb = dialect("mariadb", "10.11.0");
        let mut heap = mariadb.clone();
        heap.capabilities.insert(Capability::HeapTables);
        for common in [mariadb.in_common(&heap), heap.in_common(&mariadb)] {
            assert!(common.expect("the same").supports(Capability::HeapTables));
        }
    }
}
