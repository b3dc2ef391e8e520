//! Version chains: per row every version it had, oldest first.

use std::collections::BTreeMap;

use crate::model::{Row, StatementId, Tick, Value};

/// A version, by its place in [`Chains`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VersionId(usize);

/// A row's value as one statement left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub table: String,
    pub key: Value,
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
    rows: BTreeMap<String, BTreeMap<Value, Vec<VersionId>>>,
}

impl Chains {
    /// Appends a version to the chain of its row.
    pub fn push(&mut self, version: Version) -> VersionId {
        let id = VersionId(self.versions.len());
        let table = self.rows.entry(version.table.clone()).or_default();
        table.entry(version.key.clone()).or_default().push(id);
        self.versions.push(version);
        id
    }

    pub fn version(&self, id: VersionId) -> &Version {
        &self.versions[id.0]
    }

    /// The rows of a table with their chains, oldest version first.
    pub fn table(&self, table: &str) -> impl Iterator<Item = (&Value, &[VersionId])> {
        self.rows
            .get(table)
            .into_iter()
            .flatten()
            .map(|(key, chain)| (key, chain.as_slice()))
    }

    /// The chain of one row, oldest version first.
    pub fn chain(&self, table: &str, key: &Value) -> &[VersionId] {
        self.rows
            .get(table)
            .and_then(|rows| rows.get(key))
            .map_or(&[], Vec::as_slice)
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
