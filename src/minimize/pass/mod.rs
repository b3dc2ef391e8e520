//! One file for each pass. A pass tries smaller cases and keeps what shows the finding.

mod begins;
mod columns;
mod constraints;
mod expressions;
mod joined;
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

/// Every pass, from the coarse to the fine.
pub const PASSES: &[&dyn Pass] = &[
    &transactions::Transactions,
    &prepared::PreparedSessions,
    &statements::Statements,
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
