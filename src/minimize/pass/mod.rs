//! One file for each pass. A pass tries smaller cases and keeps what shows the finding.

mod columns;
mod expressions;
mod joined;
mod names;
mod rescheduled;
mod rows;
mod schedule;
mod statements;
mod tables;
mod transactions;

use super::search::{Search, Stop};

/// One way of making a case smaller.
pub trait Pass: Sync {
    /// For logs.
    fn name(&self) -> &'static str;

    /// Tries its candidates.
    ///
    /// # Errors
    /// When the search is over.
    fn run(&self, search: &mut Search<'_>) -> Result<(), Stop>;
}

/// Every pass, from the coarse to the fine.
pub const PASSES: &[&dyn Pass] = &[
    &transactions::Transactions,
    &statements::Statements,
    &joined::JoinedTransactions,
    &rescheduled::Rescheduled,
    &schedule::ContextSwitches,
    &rows::Rows,
    &tables::Tables,
    &columns::Columns,
    &expressions::Expressions,
    &names::Names,
];
