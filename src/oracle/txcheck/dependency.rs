//! The statement dependency graph.
//!
//! TxCheck, section 3.1 and appendix A define seven kinds of dependencies; appendix B infers them
//! from intersections of BWR, AWR and VSR. Here the version chains are known, so the same kinds
//! follow from them: who wrote what a statement saw, and who replaced it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::graph::Graph;
use crate::model::{Role, StatementId, TableShape, Value};
use crate::observe::VersionId;
use crate::oracle::Evidence;

/// The seven kinds of TxCheck, section 3.1, each "depends on", and one of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SdgEdgeKind {
    /// Reads a version the other wrote (definition 2, wr).
    ItemRead,
    /// Replaces a version the other wrote (definition 3, ww).
    ItemWrite,
    /// Replaces a version the other read (definition 4, rw).
    ItemAnti,
    /// Its predicate ranges over a version the other wrote (definition 5, version set).
    PredicateRead,
    /// A write's predicate does, or a write replaces what another's predicate ranged over
    /// (definition 6).
    PredicateWrite,
    /// Replaces a version over which the other's predicate ranged (definition 7, overwrite).
    PredicateAnti,
    /// The same through a table from which a write takes its values (definition 8).
    ValueWrite,
    /// Takes a value of a unique key that the other gave up in another row: the paper has no such
    /// kind, for there a statement whose effect is put in place is no vertex.
    KeyWrite,
}

impl fmt::Display for SdgEdgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ItemRead => "item-read",
            Self::ItemWrite => "item-write",
            Self::ItemAnti => "item-anti",
            Self::PredicateRead => "predicate-read",
            Self::PredicateWrite => "predicate-write",
            Self::PredicateAnti => "predicate-anti",
            Self::ValueWrite => "value-write",
            Self::KeyWrite => "key-write",
        })
    }
}

/// A graph whose vertices are statements that last.
pub(super) struct Sdg {
    pub(super) statements: Vec<StatementId>,
    pub(super) graph: Graph,
    pub(super) kinds: BTreeMap<(usize, usize), BTreeSet<SdgEdgeKind>>,
}

/// A row has a value of a unique key.
struct Holding {
    /// The version that took it.
    from: VersionId,
    /// The one that gave it up.
    until: Option<VersionId>,
}

/// The inference of the graph from a run.
pub(super) struct Inference<'a> {
    pub(super) evidence: &'a Evidence,
}

impl Inference<'_> {
    /// Infers the graph over these statements. A statement in `placeholders` keeps its writes and
    /// loses what it saw: its effect is put in place, the statement is not run.
    pub(super) fn infer(
        &self,
        statements: &BTreeSet<StatementId>,
        placeholders: &BTreeSet<StatementId>,
    ) -> Sdg {
        let mut sdg = Sdg {
            statements: statements.iter().copied().collect(),
            graph: Graph::new(statements.len()),
            kinds: BTreeMap::new(),
        };
        let index: BTreeMap<StatementId, usize> = sdg
            .statements
            .iter()
            .enumerate()
            .map(|(i, id)| (*id, i))
            .collect();
        self.write_order(&index, &mut sdg);
        for table in &self.evidence.case.tables {
            for key in table.keys() {
                self.key_order(table, key, &index, &mut sdg);
            }
        }
        for &reader in statements.difference(placeholders) {
            self.read_order(reader, &index, &mut sdg);
        }
        sdg
    }

    /// Versions of a row that last, oldest first.
    fn lasting(&self, chain: &[VersionId]) -> Vec<VersionId> {
        let writer = |id: VersionId| self.evidence.account.chains.version(id).writer;
        chain
            .iter()
            .copied()
            .filter(|&id| self.evidence.timeline.lasts(writer(id)))
            .collect()
    }

    fn writer(&self, id: VersionId) -> StatementId {
        self.evidence.account.chains.version(id).writer
    }

    fn write_order(&self, index: &BTreeMap<StatementId, usize>, sdg: &mut Sdg) {
        for table in &self.evidence.case.tables {
            for (_, chain) in self.evidence.account.chains.table(&table.name) {
                for pair in self.lasting(chain).windows(2) {
                    let (from, to) = (self.writer(pair[0]), self.writer(pair[1]));
                    sdg.depend(index, from, to, SdgEdgeKind::ItemWrite);
                }
            }
        }
    }

    /// Who takes a value of a unique key comes after who gave it up in another row: no table holds both.
    fn key_order(
        &self,
        table: &TableShape,
        key: &[String],
        index: &BTreeMap<StatementId, usize>,
        sdg: &mut Sdg,
    ) {
        let mut held: BTreeMap<Vec<Cow<'_, Value>>, Vec<Holding>> = BTreeMap::new();
        for (_, chain) in self.evidence.account.chains.table(&table.name) {
            let lasting = self.lasting(chain);
            for (at, &from) in lasting.iter().enumerate() {
                let value = self.key_of(table, key, from);
                let before = at.checked_sub(1).map(|at| lasting[at]);
                let starts = before.is_none_or(|id| self.key_of(table, key, id) != value);
                let Some(key_value) = value.as_ref().filter(|_| starts) else {
                    continue;
                };
                let mut later = lasting[at + 1..].iter();
                let until = later.find(|id| self.key_of(table, key, **id) != value);
                let holding = Holding {
                    from,
                    until: until.copied(),
                };
                // A row that its own statement took back stood half-way in, and in no serial order.
                let taken_back = until.is_some_and(|id| self.writer(*id) == self.writer(from));
                if !taken_back {
                    held.entry(key_value.clone()).or_default().push(holding);
                }
            }
        }
        for mut holdings in held.into_values() {
            // The one that lasts to the end is the last.
            holdings.sort_by_key(|holding| (holding.until.is_none(), holding.from));
            for pair in holdings.windows(2) {
                if let Some(until) = pair[0].until {
                    let (from, to) = (self.writer(until), self.writer(pair[1].from));
                    sdg.depend(index, from, to, SdgEdgeKind::KeyWrite);
                }
            }
        }
    }

    /// The value of a unique key in a version; none where a part of it is NULL, or the row is gone.
    fn key_of(
        &self,
        table: &TableShape,
        key: &[String],
        id: VersionId,
    ) -> Option<Vec<Cow<'_, Value>>> {
        table.key_of(key, self.evidence.account.chains.row(id)?)
    }

    /// After the writer of each version it saw, before the writer of the next.
    fn read_order(&self, reader: StatementId, index: &BTreeMap<StatementId, usize>, sdg: &mut Sdg) {
        let Some(statement) = self.evidence.case.statement(reader) else {
            return;
        };
        let Some(view) = self.evidence.account.views.get(&reader) else {
            return;
        };
        for table_use in &statement.effect.uses {
            let Some(seen) = view.get(&table_use.table) else {
                continue;
            };
            for (row, chain) in self.evidence.account.chains.table(&table_use.table) {
                let lasting = self.lasting(chain);
                let position = seen.get(row).copied().flatten();
                let item = position.is_some_and(|id| self.in_output(reader, id));
                let (from_kind, to_kind) = kinds(table_use.role, item);
                let next = match position {
                    None => lasting.first(),
                    Some(version) => {
                        sdg.depend(index, self.writer(version), reader, from_kind);
                        let at = lasting.iter().position(|id| *id == version);
                        at.and_then(|at| {
                            lasting[at + 1..]
                                .iter()
                                .find(|id| self.writer(**id) != reader)
                        })
                    }
                };
                if let Some(&next) = next
                    && self.writer(next) != reader
                {
                    sdg.depend(index, reader, self.writer(next), to_kind);
                }
            }
        }
    }

    /// Whether the row of this version shows in the statement's result, by its version key.
    fn in_output(&self, reader: StatementId, version: VersionId) -> bool {
        let version = self.evidence.account.chains.version(version);
        let key = self.evidence.case.table(&version.table).and_then(|table| {
            let at = table.column(table.version_key.as_deref()?)?;
            version.row.as_ref()?.get(at)
        });
        let Some(key @ Value::Integer(_)) = key else {
            return false;
        };
        let record = self.evidence.execution.records.get(&reader);
        record.is_some_and(|record| record.outcome.rows().iter().any(|row| row.contains(key)))
    }
}

/// The kinds of the edges into and out of a statement that uses a table in this role.
fn kinds(role: Role, item: bool) -> (SdgEdgeKind, SdgEdgeKind) {
    match role {
        Role::PlainSelect | Role::LockingSelect | Role::LockingSelectSource => {
            if item {
                (SdgEdgeKind::ItemRead, SdgEdgeKind::ItemAnti)
            } else {
                (SdgEdgeKind::PredicateRead, SdgEdgeKind::PredicateAnti)
            }
        }
        Role::UpdateTarget
        | Role::DeleteTarget
        | Role::InsertTarget
        | Role::ForeignKeyTarget
        | Role::TriggerTarget => (SdgEdgeKind::PredicateWrite, SdgEdgeKind::PredicateWrite),
        Role::UpdateSource
        | Role::UpdateJoinSource
        | Role::DeleteSource
        | Role::InsertSelectSource
        | Role::InsertValuesSource
        | Role::ForeignKeyCheck
        | Role::ForeignKeyChild => (SdgEdgeKind::ValueWrite, SdgEdgeKind::ValueWrite),
    }
}

impl Sdg {
    fn depend(
        &mut self,
        index: &BTreeMap<StatementId, usize>,
        from: StatementId,
        to: StatementId,
        kind: SdgEdgeKind,
    ) {
        if let (Some(&from), Some(&to)) = (index.get(&from), index.get(&to))
            && from != to
        {
            self.graph.add(from, to);
            self.kinds.entry((from, to)).or_default().insert(kind);
        }
    }

    /// Why one statement comes before another, for people.
    pub(super) fn edge_text(&self, from: usize, to: usize) -> String {
        let kinds: Vec<String> = self
            .kinds
            .get(&(from, to))
            .into_iter()
            .flatten()
            .map(SdgEdgeKind::to_string)
            .collect();
        format!(
            "{} -> {} ({})",
            self.statements[from],
            self.statements[to],
            kinds.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Inference;
    use crate::model::{IsolationLevel, StatementId, TransactionId};
    use crate::oracle::view::tests::script::{Line, Rows, Script};

    const TABLE: &str = "CREATE TABLE t (pkey INT NOT NULL UNIQUE, vkey INT, c INT PRIMARY KEY)";
    const BOTH: Rows = &[[1, 1, 10], [2, 1000, 20]];

    /// Whether a DELETE comes before the INSERT after it, where the effects of both are put in place.
    fn delete_comes_first(delete: &'static str, insert: &'static str, stands: Rows) -> bool {
        let lines = [
            Line::Answers(1, delete, 1),
            Line::Stands(&[[1, 1, 10]]),
            Line::Answers(2, insert, 1),
            Line::Stands(stands),
        ];
        let initial = [[1, 1, 10], [2, 2, 20]];
        let script = Script::new(IsolationLevel::ReadCommitted, TABLE, &initial, &lines);
        script.learned(|evidence, _| {
            let writes = [1, 2].map(|transaction| StatementId {
                transaction: TransactionId(transaction),
                position: 1,
            });
            let placeholders = BTreeSet::from(writes);
            let sdg = Inference { evidence }.infer(&placeholders, &placeholders);
            sdg.kinds.contains_key(&(0, 1))
        })
    }

    #[test]
    fn who_takes_a_unique_key_over_comes_after_who_gave_it_up() {
        let delete = "DELETE FROM t WHERE pkey = 2";
        let by_row_key = "INSERT INTO t (pkey, vkey, c) VALUES (2, 1000, 30)";
        let by_another = "INSERT INTO t (pkey, vkey, c) VALUES (3, 1000, 20)";
        let by_both = "INSERT INTO t (pkey, vkey, c) VALUES (2, 1000, 20)";
        let by_none = "INSERT INTO t (pkey, vkey, c) VALUES (3, 1000, 30)";
        assert!(delete_comes_first(
            delete,
            by_row_key,
            &[[1, 1, 10], [2, 1000, 30]]
        ));
        assert!(delete_comes_first(
            delete,
            by_another,
            &[[1, 1, 10], [3, 1000, 20]]
        ));
        assert!(delete_comes_first(delete, by_both, BOTH));
        assert!(!delete_comes_first(
            delete,
            by_none,
            &[[1, 1, 10], [3, 1000, 30]]
        ));
    }

    #[test]
    fn a_row_that_was_half_way_in_gives_no_key_up() {
        let upsert = "INSERT INTO t (pkey, vkey, c) VALUES (3, 1001, 0) \
                      ON DUPLICATE KEY UPDATE vkey = 1001";
        let half: Rows = &[[1, 1, 10], [2, 2, 20], [3, 1000, 30], [3, 1001, 0]];
        let lines = [
            Line::Answers(1, "BEGIN", 0),
            Line::Answers(2, "BEGIN", 0),
            Line::Answers(1, "INSERT INTO t (pkey, vkey, c) VALUES (3, 1000, 30)", 1),
            Line::Stands(&[[1, 1, 10], [2, 2, 20], [3, 1000, 30]]),
            Line::Waits(2, upsert),
            Line::Stands(half),
            Line::Answers(1, "COMMIT", 0),
            Line::Resumes(2, 2),
            Line::Stands(&[[1, 1, 10], [2, 2, 20], [3, 1001, 30]]),
            Line::Answers(2, "COMMIT", 0),
        ];
        let initial = [[1, 1, 10], [2, 2, 20]];
        let script = Script::new(IsolationLevel::ReadCommitted, TABLE, &initial, &lines);
        script.learned(|evidence, _| {
            let writes = [(1, 2), (2, 2)].map(|(transaction, position)| StatementId {
                transaction: TransactionId(transaction),
                position,
            });
            let placeholders = BTreeSet::from(writes);
            let sdg = Inference { evidence }.infer(&placeholders, &placeholders);
            assert_eq!(sdg.kinds.keys().collect::<Vec<_>>(), [&(0, 1)]);
        });
    }
}
