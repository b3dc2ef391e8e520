//! SQL text and its meaning: what each statement does to tables.
//!
//! [`analyze`] returns a statement's kind and the tables it names with their roles; [`shapes`]
//! reads the tables out of a set-up. The original text is always kept; only functions that return
//! a changed statement change one.

mod catalog;
mod column;
mod comma_tables;
mod condition;
mod constraints;
mod contradiction;
mod control;
mod counting;
mod effect;
mod form;
mod heading;
mod key_lookup;
mod key_reach;
mod key_value;
mod level_setting;
mod limit;
mod lock_clause;
mod matched;
#[cfg(test)]
mod merge_tests;
mod parse;
mod partition;
mod physical_ddl;
mod prepared;
mod query;
mod rest;
mod returning;
mod returning_place;
mod row_order;
mod row_write;
mod session_lock;
mod shape;
mod shown;
mod simplify;
mod sorted;
mod table_lock;
mod table_options;
mod table_reads;
#[cfg(test)]
mod tests;
mod token;
mod trigger;
mod unrepeatable;
mod value_keys;
mod walk;
mod words;

pub use catalog::Catalog;
pub use column::without_column;
pub use condition::names_in_condition;
pub use constraints::{constraints, foreign_key_actions};
pub use control::{assignment, commits_by_itself, defers_snapshots};
pub use counting::{CountedInsert, Counting, Filling, Returned, counted_insert, set_up_counts};
pub use effect::analyze;
pub use heading::{headings, returns};
pub use key_lookup::{KeyLookup, key_lookups, row_lookup};
pub use key_value::{InsertedRows, KeyAccess, KeyTable, inserted_rows, key_access, key_table};
pub use level_setting::{LevelScope, level_set};
pub use limit::without_limit;
pub use matched::{matched_rows, search_of_write};
pub use partition::{is_stray_partition, made_partition};
pub use prepared::{PreparedStatements, may_be_prepared};
pub use returning::{ReturningText, with_returning};
pub use row_write::{RowWrite, row_write};
pub use session_lock::{SessionLock, session_lock};
pub use shape::{setup_kind, shapes};
pub use shown::{ShownRows, ShownTable, shown_rows};
pub use simplify::simplify;
pub use sorted::{SortedRead, sorted_read};
pub use table_options::table_options;
pub use table_reads::{TableRead, table_reads, tables_read};
pub use trigger::{
    TriggerText, assignment_as_update, has_trigger, has_unknown_trigger, trigger_text,
};
pub use unrepeatable::is_unrepeatable;
pub use value_keys::value_keys;
pub(crate) use walk::{SyntaxNode, walk};
pub use words::{ValueRows, count_mentions, mentions, mentions_together, renamed, shows_each_row};
