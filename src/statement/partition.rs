//! Partitions of tables, as a set-up makes them.

use super::token::{SqlToken, closing, created_table, object_name, stands, tokens};
use crate::dialect::Dialect;
use crate::model::{PartitionMethod, Partitioning, TableShape};

/// The partition that a `CREATE TABLE .. PARTITION OF ..` makes, in small letters, and the table that it is a part of.
pub(super) fn partition(words: &[SqlToken<'_>]) -> Option<(String, String)> {
    let whole = parent_of_partition(words)?;
    let name = created_table(words)?.0.to_ascii_lowercase();
    (name != whole.to_ascii_lowercase()).then_some((name, whole))
}

/// The same of a statement of a set-up: the partition that it makes.
pub fn made_partition(sql: &str, dialect: &Dialect) -> Option<String> {
    let words = tokens(sql, dialect)?;
    partition(&words).map(|(name, _)| name)
}

/// The table of which a `CREATE TABLE .. PARTITION OF ..` makes a partition.
pub(super) fn parent_of_partition(words: &[SqlToken<'_>]) -> Option<String> {
    let of = (0..words.len()).find(|at| stands(words, *at, &["PARTITION", "OF"]))? + 2;
    let (name, _) = object_name(words, of)?;
    words.first()?.is("CREATE").then_some(name)
}

/// Whether a statement of a set-up makes a partition of a table that is none of these or has no partitions.
pub fn is_stray_partition(sql: &str, tables: &[TableShape], dialect: &Dialect) -> bool {
    let parent = tokens(sql, dialect).and_then(|words| parent_of_partition(&words));
    parent.is_some_and(|parent| {
        let is_it = |table: &&TableShape| table.name.eq_ignore_ascii_case(&parent);
        let table = tables.iter().find(is_it);
        table.is_none_or(|table| table.partitioning.is_none())
    })
}

/// The `PARTITION BY` from this token on: `PARTITION BY [LINEAR] HASH (a)`, `RANGE COLUMNS (a, b)`.
/// Every name in its first parentheses counts as a column: one that is a function does no harm.
pub(super) fn partitioning(words: &[SqlToken<'_>], from: usize) -> Option<Partitioning> {
    let by = (from..words.len()).find(|at| stands(words, *at, &["PARTITION", "BY"]))? + 2;
    let at = by + usize::from(words.get(by)?.is("LINEAR"));
    let word = words.get(at)?;
    let is = |method: &&PartitionMethod| word.is(&method.slug().to_ascii_uppercase());
    let method = PartitionMethod::ALL.iter().copied().find(|m| is(&m))?;
    let open = (at..words.len()).find(|at| words[*at].is_mark('('))?;
    let columns = words[open..closing(words, open)?]
        .iter()
        .filter_map(SqlToken::name)
        .map(|name| name.to_ascii_lowercase());
    Some(Partitioning {
        method,
        columns: columns.collect(),
    })
}
