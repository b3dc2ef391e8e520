//! Oracles: each judges a run by an account of its own.
//!
//! [`hear`] runs a case once for each distinct need of its oracles and has all with equal needs
//! judge the same [`Evidence`].

mod account;
mod compare;
mod counted;
pub mod crash;
mod evidence;
mod hear;
mod hearing;
mod history;
mod isolation;
mod judging;
mod locks;
mod own_changes;
mod recovery;
mod refusal;
mod serial;
mod signature;
mod storage_changed;
pub mod tables;
mod troc;
mod txcheck;
mod view;

use crate::observe::Learner;

pub use compare::same_rows;
pub use evidence::Evidence;
pub use hear::hear;
pub use hearing::{EVERY_RUN, Explained, Explains, Heard, Hearing};
pub use history::HistoryOracle;
pub use isolation::IsolationOracle;
pub use judging::{Needs, Oracle, Ruling};
pub use locks::LockOracle;
pub use recovery::RecoveryOracle;
pub use serial::SerialOracle;
pub use signature::tell_alike;
pub use troc::Troc;
pub use txcheck::TxCheck;
pub use view::unstable_prediction;

/// Every oracle, in the order of `--help`.
pub const ORACLES: &[&dyn Oracle] = &[
    &TxCheck {
        learner: Learner::Observer,
    },
    &Troc {
        learner: Learner::Observer,
    },
    &LockOracle,
    &SerialOracle,
    &IsolationOracle {
        learner: Learner::Observer,
    },
    &HistoryOracle,
    &RecoveryOracle,
];

/// The oracles that can learn by probes in the sessions, for `--observe probes`.
pub const BY_PROBES: &[&dyn Oracle] = &[
    &TxCheck {
        learner: Learner::Probes,
    },
    &IsolationOracle {
        learner: Learner::Probes,
    },
    &Troc {
        learner: Learner::Probes,
    },
];
