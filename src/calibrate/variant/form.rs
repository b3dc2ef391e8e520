//! What a probed statement is.

use self::Sign::Then;
use crate::dialect::{Capability, Dialect};
use crate::model::Role;

/// A value that no statement looks for.
const FOREIGN: i64 = 55;

/// What the other session changes while the statement runs or before it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::calibrate) enum ProbedRow {
    /// Row 1 of the source.
    Source,
    /// Row 1 of the target.
    Target,
    /// A new row of the target, with the key `{key}`.
    Inserted,
    /// Row 1 of `parent`: its key, which no child has.
    Parent,
    /// Row 1 of `kept_child`: which row of `kept_parent` it references.
    Child,
    /// Row 1 of `holding_child`: which row of `held_parent` it keeps.
    Holder,
}

impl ProbedRow {
    /// Gives the subject this value.
    pub(in crate::calibrate) fn write(self, value: i64, key: i64) -> String {
        match self {
            Self::Source => format!("UPDATE u SET c = {value} WHERE pkey = 1"),
            Self::Target => format!("UPDATE t SET c = {value} WHERE pkey = 1"),
            Self::Inserted => format!("INSERT INTO t VALUES ({key}, {value})"),
            Self::Parent => format!("UPDATE parent SET pkey = {value} WHERE pkey = 1"),
            Self::Child => format!("UPDATE kept_child SET c = {value} WHERE pkey = 1"),
            Self::Holder => format!("UPDATE holding_child SET c = {value} WHERE pkey = 1"),
        }
    }

    /// What the other session writes to find out whether it is kept out by a statement that looked for `old`.
    pub(in crate::calibrate) fn foreign_value(self, old: i64) -> i64 {
        match self {
            // A row that does not keep the one that goes is nobody's business.
            Self::Holder => old,
            Self::Source | Self::Target | Self::Inserted | Self::Parent | Self::Child => FOREIGN,
        }
    }
}

/// What tells that the statement saw the value it looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::calibrate) enum Sign {
    /// It returned a row.
    Rows,
    /// It changed this many rows, as the engine counts.
    Affected(u64),
    /// It changed none.
    Nothing,
    /// It was rejected for a duplicate key.
    Duplicate,
    /// It was not rejected for a foreign key.
    Referenced,
    /// It was rejected for a foreign key.
    Held,
    /// This query, asked next in the same session, returns a row.
    Then(&'static str),
}

/// One form.
#[derive(Clone, Copy, Debug)]
pub(in crate::calibrate) struct Variant {
    pub(in crate::calibrate) role: Role,
    /// The form, for people.
    pub(in crate::calibrate) form: &'static str,
    /// Capabilities of the dialect without which it cannot be written.
    pub(in crate::calibrate) needs: &'static [Capability],
    pub(in crate::calibrate) sql: &'static str,
    pub(in crate::calibrate) subject: ProbedRow,
    pub(in crate::calibrate) sign: Sign,
    /// The newest committed version may be found unfit and passed over without a wait, at levels
    /// where InnoDB does so (its manual calls the read semi-consistent).
    pub(in crate::calibrate) may_pass_over: bool,
}

pub(super) const fn variant(
    role: Role,
    form: &'static str,
    sql: &'static str,
    subject: ProbedRow,
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
    pub(super) const fn needing(mut self, needs: &'static [Capability]) -> Self {
        self.needs = needs;
        self
    }

    /// A lock clause that the form names and the dialect does not have.
    pub(in crate::calibrate) fn unspelled_clause(&self, dialect: &Dialect) -> Option<&'static str> {
        let clauses = [("{update}", "update"), ("{share}", "share")];
        let mut named = clauses
            .into_iter()
            .filter(|(place, _)| self.sql.contains(place));
        let is_missing = |clause: &str| !dialect.spelling.lock_clauses.contains_key(clause);
        named.find_map(|(_, clause)| is_missing(clause).then_some(clause))
    }

    pub(super) const fn passing_over(mut self) -> Self {
        self.may_pass_over = true;
        self
    }
}

/// Row 1 of the target took its value from the source.
pub(super) const TAKEN: Sign = Then("SELECT pkey FROM t WHERE pkey = 1 AND c = {seen}");

/// Row 1 of the target was counted up from the value.
pub(super) const COUNTED: Sign = Then("SELECT pkey FROM t WHERE pkey = 1 AND c = {seen} + 1000");

/// The new row of the target took its value from the source.
pub(super) const INSERTED: Sign = Then("SELECT pkey FROM t WHERE pkey = {key} AND c = {seen}");
