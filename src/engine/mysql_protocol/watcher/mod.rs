//! Which connections wait for a lock, and for which others.

mod lock_tables;
mod status;
mod transaction_states;
mod view;

pub(super) use lock_tables::LockTables;
pub(super) use status::InnodbStatus;
pub(super) use transaction_states::TransactionStates;
pub(super) use view::LockViewWatcher;
