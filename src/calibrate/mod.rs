//! Every read mode of a dialect, proved on a live server.
//!
//! Scripted sessions of two decide each entry of the dialect file from data. Where the server does
//! otherwise, the server or the file is wrong, and every oracle that trusts the file would be.

mod entry;
mod listener;
mod modes;
mod moments;
mod run;
mod stage;
mod variant;

pub use entry::{CalibratedEntry, CalibrationReport, PROBES_OF_A_WRONG_ENTRY, Proof};
pub use listener::{CalibrationListener, Unattended};
pub use run::{CalibrationError, run};
