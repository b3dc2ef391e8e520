//! Item reads: which row versions a transaction was shown, where the rows themselves say so.

use crate::model::{
    CaseStatement, Outcome, ProbeTag, ReadMode, Role, Row, StatementId, StatementKind,
    StatementRecord, TableShape, Tick, Value,
};
use crate::observe::{RowId, VersionId, is_hidden_row_key};
use crate::oracle::Evidence;
use crate::statement::{ShownTable, shown_rows};

/// How it is known what a query read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::oracle) enum QuerySource {
    /// The rows of its result.
    Rows,
    /// The rows of a probe in its transaction.
    Probe,
    /// The view that its level promises: what its predicates range over.
    View,
}

/// The versions that one query read: a statement of the case, or a probe in its transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::oracle) struct ItemQuery {
    /// The statement, or the one that the probe stands for.
    pub(in crate::oracle) statement: StatementId,
    pub(in crate::oracle) source: QuerySource,
    /// What the judged level promises of its reads.
    pub(in crate::oracle) mode: ReadMode,
    /// When it was answered.
    pub(in crate::oracle) at: Tick,
    pub(in crate::oracle) versions: Vec<VersionId>,
    /// First versions of rows that it did not see yet; known from a view only.
    pub(in crate::oracle) missed: Vec<VersionId>,
}

/// Every query whose rows name versions, in the order of the answers.
///
/// A row names a version when it holds row key and version key of a table, or the whole row, as they
/// are stored, and exactly one version of that row has all the values that it shows. Rows of a probe
/// are whole.
pub(in crate::oracle) fn item_queries(evidence: &Evidence) -> Vec<ItemQuery> {
    let reads = evidence.case.statements.iter().filter(|statement| {
        let kind = statement.effect.kind;
        matches!(kind, StatementKind::Select | StatementKind::LockingSelect)
    });
    let mut queries: Vec<ItemQuery> = reads.filter_map(|s| of_statement(evidence, s)).collect();
    let probes = evidence.execution.probes.iter();
    queries.extend(probes.filter_map(|probe| {
        // Outside a transaction a probe is a transaction of its own, and none of the case's.
        let explicit = evidence.case.is_explicit(probe.statement.transaction);
        let (table, locking) = match &probe.tag {
            ProbeTag::VersionSet { table, locking } => (table, *locking),
            ProbeTag::BeforeWrite { table } => (table, true),
            ProbeTag::FixSnapshot | ProbeTag::AfterWrite { .. } | ProbeTag::Returned { .. } => {
                return None;
            }
        };
        let (true, Outcome::Rows(rows)) = (explicit, &probe.outcome) else {
            return None;
        };
        let shape = evidence.case.table(table)?;
        let role = match locking {
            true => Role::LockingSelect,
            false => Role::PlainSelect,
        };
        let whole: Vec<(usize, usize)> = (0..shape.columns.len()).map(|at| (at, at)).collect();
        let versions = rows
            .iter()
            .filter_map(|row| version_shown(evidence, shape, &whole, row));
        Some(ItemQuery {
            statement: probe.statement,
            source: QuerySource::Probe,
            mode: evidence.promised_mode(evidence.case.statement(probe.statement)?, role),
            at: probe.tick,
            versions: versions.collect(),
            missed: Vec::new(),
        })
    }));
    queries.retain(|query| !query.versions.is_empty());
    queries.sort_by_key(|query| query.at);
    queries
}

/// What every statement ranges over, by the views of an account: not what it was shown, but what it
/// must have looked at on an engine that keeps the promises of this account. Of a table into which it only puts rows, itself
/// or by a trigger, these are the rows that it changed.
pub(in crate::oracle) fn ranges(evidence: &Evidence) -> Vec<ItemQuery> {
    let chains = &evidence.account.chains;
    let mut queries = Vec::new();
    for (id, view) in &evidence.account.views {
        let Some(record) = evidence.execution.records.get(id) else {
            continue;
        };
        let rows = || {
            let all = view.iter();
            let all = all.flat_map(|(table, seen)| seen.iter().map(move |s| (table, s)));
            all.filter(|(table, (row, _))| looks_at(evidence, record, table, row))
        };
        let unborn = rows().filter(|(_, (_, version))| version.is_none());
        queries.push(ItemQuery {
            statement: *id,
            source: QuerySource::View,
            mode: ReadMode::StatementSnapshot,
            at: record.answered,
            versions: rows().filter_map(|(_, (_, version))| *version).collect(),
            missed: unborn
                .filter_map(|(table, (row, _))| chains.chain(table, row).first().copied())
                .collect(),
        });
    }
    queries.sort_by_key(|query| query.at);
    queries
}

/// Whether a statement looks at a row of its view.
fn looks_at(evidence: &Evidence, record: &StatementRecord, table: &str, row: &RowId) -> bool {
    let puts_rows = |role: Role| matches!(role, Role::InsertTarget | Role::TriggerTarget);
    let statement = evidence.case.statement(record.id);
    let mut uses = statement.into_iter().flat_map(|s| &s.effect.uses);
    // What refuses it may be any row.
    record.outcome.error_class().is_some()
        || uses.any(|used| used.table == table && !puts_rows(used.role))
        || evidence.account.has_changed(record.id, table, row)
}

fn of_statement(evidence: &Evidence, statement: &CaseStatement) -> Option<ItemQuery> {
    let record = evidence.execution.records.get(&statement.id)?;
    let rows = record.outcome.rows();
    if rows.is_empty() || !may_show(evidence, statement) {
        return None;
    }
    let shown = shown_rows(&statement.sql, &evidence.dialect, &evidence.case.tables)?;
    let locks = statement.effect.kind == StatementKind::LockingSelect;
    let role = match locks {
        true => Role::LockingSelect,
        false => Role::PlainSelect,
    };
    let rows = rows.iter().filter(|row| row.len() == shown.width);
    let versions =
        rows.flat_map(|row| shown.tables.iter().filter_map(|t| of_row(evidence, t, row)));
    Some(ItemQuery {
        statement: statement.id,
        source: QuerySource::Rows,
        mode: evidence.promised_mode(statement, role),
        at: record.answered,
        versions: versions.collect(),
        missed: Vec::new(),
    })
}

/// Whether it is worth reading the text: a star, or both keys of a table, stands in it; and every
/// table has the columns that a star shows.
fn may_show(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let tables = statement.effect.uses.iter();
    let shapes: Vec<&TableShape> = tables
        .filter_map(|u| evidence.case.table(&u.table))
        .collect();
    let names = |shape: &&TableShape| {
        let keys = [&shape.row_key, &shape.version_key];
        let named = |key: &&Option<String>| {
            key.as_ref()
                .is_some_and(|key| statement.sql.contains(key.as_str()))
        };
        statement.sql.contains('*') || keys.iter().all(named)
    };
    shapes.iter().any(names) && !shapes.iter().any(|shape| is_hidden_row_key(shape))
}

fn of_row(evidence: &Evidence, shown: &ShownTable, row: &Row) -> Option<VersionId> {
    let shape = evidence.case.table(&shown.table)?;
    version_shown(evidence, shape, &shown.columns, row)
}

/// The version of a table's row that has the values which a result row shows; `columns` are places
/// in the result row and in the shape.
fn version_shown(
    evidence: &Evidence,
    shape: &TableShape,
    columns: &[(usize, usize)],
    row: &Row,
) -> Option<VersionId> {
    let shown = |key: &Option<String>| {
        let at = shape.column(key.as_deref()?)?;
        let (place, _) = columns.iter().find(|(_, column)| *column == at)?;
        row.get(*place).filter(|cell| **cell != Value::Null)
    };
    if columns.len() < shape.columns.len() {
        shown(&shape.version_key)?;
    }
    let key = shown(&shape.row_key)?;
    let chains = &evidence.account.chains;
    let has_all = |version: &VersionId| {
        chains.row(*version).is_some_and(|stored| {
            let mut columns = columns.iter();
            columns.all(|(place, column)| row.get(*place) == stored.get(*column))
        })
    };
    let rows = chains.rows_with_key(&shape.name, key);
    let mut alike = rows
        .flat_map(|(_, chain)| chain.iter().copied())
        .filter(has_all);
    match (alike.next(), alike.next()) {
        (Some(version), None) => Some(version),
        _ => None,
    }
}
