//! The statement dependency graph.
//!
//! TxCheck, section 3.1 and appendix A define seven kinds of dependencies; appendix B infers them
//! from intersections of BWR, AWR and VSR. Here the version chains are known, so the same kinds
//! follow from them: who wrote what a statement saw, and who replaced it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::graph::Graph;
use crate::model::{Role, StatementId, Value};
use crate::observe::VersionId;
use crate::oracle::Evidence;

/// The seven kinds of TxCheck, section 3.1, each "depends on".
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
        })
    }
}

/// A graph whose vertices are statements that last.
pub(super) struct Sdg {
    pub(super) statements: Vec<StatementId>,
    pub(super) graph: Graph,
    pub(super) kinds: BTreeMap<(usize, usize), BTreeSet<SdgEdgeKind>>,
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
        Role::UpdateTarget | Role::DeleteTarget | Role::InsertTarget => {
            (SdgEdgeKind::PredicateWrite, SdgEdgeKind::PredicateWrite)
        }
        Role::UpdateSource
        | Role::UpdateJoinSource
        | Role::DeleteSource
        | Role::InsertSelectSource
        | Role::InsertValuesSource => (SdgEdgeKind::ValueWrite, SdgEdgeKind::ValueWrite),
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
