//! Indexes that a run has made or dropped: at its end those that were made are there, and those that were dropped are not.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::EngineError;
use crate::model::{
    Execution, StatementKind, StatementRecord, StorageChange, TableFault, TestCase,
};

use super::hand::{Hand, text};

/// The table and the name of an index, in lower case.
type IndexPlace = (String, String);

/// Bytes of a name that every engine keeps: PostgreSQL cuts a longer one (manual, "Identifiers and Key Words").
const NAME_MAX: usize = 63;

/// What the last accepted DDL about an index left.
struct LeftIndex<'c> {
    table: &'c str,
    name: &'c str,
    sql: &'c str,
    is_made: bool,
}

/// Asks the engine which indexes there are, where the run made or dropped some by name.
pub(super) fn check(
    hand: &mut Hand<'_>,
    case: &TestCase,
    execution: &Execution,
) -> Result<Vec<TableFault>, EngineError> {
    let sql = &hand.dialect.spelling.list_index_names;
    let left = left_indexes(case, execution);
    if left.is_empty() || sql.is_empty() {
        return Ok(Vec::new());
    }
    let rows = hand.run(sql)?;
    let there: BTreeSet<IndexPlace> = rows
        .iter()
        .filter_map(|row| match row.as_slice() {
            [table, name] => Some((text(table)?.to_lowercase(), text(name)?.to_lowercase())),
            _ => None,
        })
        .collect();
    let faults = left.into_iter().filter_map(|(place, index)| {
        (there.contains(&place) != index.is_made).then(|| TableFault::Definition {
            table: index.table.to_owned(),
            index: index.name.to_owned(),
            sql: index.sql.to_owned(),
            is_there: !index.is_made,
        })
    });
    Ok(faults.collect())
}

/// What became of each index of which DDL outside of transactions made or dropped one by name. Left out is one of which two such
/// statements ran at once or one has no answer, and everything beside what only the engine understands.
fn left_indexes<'c>(
    case: &'c TestCase,
    execution: &Execution,
) -> BTreeMap<IndexPlace, LeftIndex<'c>> {
    let mut by_place: BTreeMap<IndexPlace, Vec<(Option<&StatementRecord>, LeftIndex<'c>)>> =
        BTreeMap::new();
    if case.count(StatementKind::Opaque) > 0 {
        return BTreeMap::new();
    }
    for statement in &case.statements {
        let Some(StorageChange {
            table,
            index_name: Some(name),
            index,
            ..
        }) = &statement.effect.storage_change
        else {
            continue;
        };
        // One in a transaction may go with it.
        if case.is_explicit(statement.id.transaction) {
            return BTreeMap::new();
        }
        let place = (table.to_lowercase(), name.to_lowercase());
        let left = LeftIndex {
            table,
            name,
            sql: &statement.sql,
            is_made: index.is_some(),
        };
        let record = execution.records.get(&statement.id);
        by_place.entry(place).or_default().push((record, left));
    }
    let known = |table: &str| {
        let mut named = case
            .tables
            .iter()
            .filter(|shape| shape.name.to_lowercase() == table);
        named.next().is_some() && named.next().is_none()
    };
    let left = by_place
        .into_iter()
        .filter(|(place, _)| known(&place.0) && place.1.len() <= NAME_MAX);
    left.filter_map(|(place, all)| Some((place, last_of(all)?)))
        .collect()
}

/// The last of these statements that was accepted, where all were answered one after the other.
fn last_of<'c>(all: Vec<(Option<&StatementRecord>, LeftIndex<'c>)>) -> Option<LeftIndex<'c>> {
    let answered = all.into_iter().map(|(record, left)| Some((record?, left)));
    let mut answered: Vec<_> = answered.collect::<Option<_>>()?;
    answered.sort_by_key(|(record, _)| record.sent);
    let mut pairs = answered.windows(2);
    if !pairs.all(|two| two[0].0.answered < two[1].0.sent) {
        return None;
    }
    let mut accepted = answered
        .into_iter()
        .filter(|(record, _)| record.outcome.error_class().is_none());
    accepted.next_back().map(|(_, left)| left)
}
