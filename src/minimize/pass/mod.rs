//! One file for each pass. A pass tries smaller cases and keeps what shows the finding.

mod begins;
mod chains;
mod columns;
mod constraints;
mod expressions;
mod joined;
mod named;
mod names;
mod prepared;
mod rescheduled;
mod rows;
mod schedule;
mod statements;
mod table_options;
mod tables;
mod transactions;
mod views;

use super::search::Pass;

/// The passes that take the most away.
pub const COARSE_PASSES: &[&dyn Pass] = &[
    &chains::Unchained,
    &named::NamedStatements,
    &transactions::Transactions,
    &prepared::PreparedSessions,
    &statements::Statements,
];

/// The others, from the coarse to the fine.
pub const FINE_PASSES: &[&dyn Pass] = &[
    &begins::PlainBegins,
    &joined::JoinedTransactions,
    &rescheduled::Rescheduled,
    &schedule::ContextSwitches,
    &rows::SetupRows,
    &views::NamedViews,
    &constraints::Constraints,
    &tables::Tables,
    &table_options::TableOptions,
    &columns::Columns,
    &expressions::Expressions,
    &names::ShortNames,
];
