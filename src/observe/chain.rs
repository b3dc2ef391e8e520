//! Version chains: per row every version it had, oldest first.

use std::collections::BTreeMap;

use crate::model::{Row, StatementId, Tick, Value};

/// A version, by its place in [`Chains`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VersionId(usize);

/// A row as the engine keeps it.
///
/// The row key names a row of the case. An engine that keeps rows by their clustered key makes
/// another row of one that is inserted under a row key after the row that had it was deleted, unless
/// the clustered key is the same, too: an old snapshot then shows both (MySQL manual, "Clustered and
/// Secondary Indexes" and "InnoDB Multi-Versioning").
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowId {
    pub key: Value,
    /// How many rows with this row key came before it.
    pub predecessors: u32,
}

impl RowId {
    /// The first row with this key.
    pub fn first(key: Value) -> Self {
        Self {
            key,
            predecessors: 0,
        }
    }
}

/// A row's value as one statement left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub table: String,
    pub id: RowId,
    /// None when the statement deleted the row.
    pub row: Option<Row>,
    pub writer: StatementId,
    /// When its writer's work was undone: by an abort, a ROLLBACK TO or a rejection.
    pub undone: Option<Tick>,
}

/// Every version of every row.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    versions: Vec<Version>,
    rows: BTreeMap<String, BTreeMap<RowId, Vec<VersionId>>>,
}

impl Chains {
    /// Appends a version to the chain of its row.
    pub fn push(&mut self, version: Version) -> VersionId {
        let id = VersionId(self.versions.len());
        let table = self.rows.entry(version.table.clone()).or_default();
        table.entry(version.id.clone()).or_default().push(id);
        self.versions.push(version);
        id
    }

    pub fn version(&self, id: VersionId) -> &Version {
        &self.versions[id.0]
    }

    /// The rows of a table with their chains, oldest version first.
    pub fn table(&self, table: &str) -> impl Iterator<Item = (&RowId, &[VersionId])> {
        self.rows
            .get(table)
            .into_iter()
            .flatten()
            .map(|(row, chain)| (row, chain.as_slice()))
    }

    /// The chain of one row, oldest version first.
    pub fn chain(&self, table: &str, row: &RowId) -> &[VersionId] {
        self.rows
            .get(table)
            .and_then(|rows| rows.get(row))
            .map_or(&[], Vec::as_slice)
    }

    /// The rows of a table that have this row key, in the order of their insertion, with their
    /// chains.
    pub fn rows_with_key(
        &self,
        table: &str,
        key: &Value,
    ) -> impl DoubleEndedIterator<Item = (&RowId, &[VersionId])> {
        let first = RowId::first(key.clone());
        let last = RowId {
            key: key.clone(),
            predecessors: u32::MAX,
        };
        self.rows
            .get(table)
            .into_iter()
            .flat_map(move |rows| rows.range(first.clone()..=last.clone()))
            .map(|(row, chain)| (row, chain.as_slice()))
    }

    /// The row that a version holds; none when it marks a deletion.
    pub fn row(&self, id: VersionId) -> Option<&Row> {
        self.version(id).row.as_ref()
    }

    /// Every version, oldest first over all rows.
    pub fn all(&self) -> impl Iterator<Item = (VersionId, &Version)> {
        self.versions
            .iter()
            .enumerate()
            .map(|(index, version)| (VersionId(index), version))
    }
}
