//! Every read mode of a dialect, proved on a live server.
//!
//! A script of two sessions decides each entry of the dialect file from data. Where the server does
//! something else, the server or the file is wrong, and oracles that trust the file would be, too.

mod absent_keys;
mod collations;
mod counters;
mod duplicates;
mod endings;
mod entry;
mod keeping;
mod listener;
mod modes;
mod moments;
mod plan_settings;
mod run;
mod schema;
mod stage;
mod table_locks;
mod variant;

pub use entry::{CalibratedEntry, CalibrationReport, PROBES_OF_A_WRONG_ENTRY, Proof};
pub use listener::{CalibrationListener, Unattended};
pub use run::{CalibrationError, run};
