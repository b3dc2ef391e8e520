//! Why a run ends before its cases are done.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A flag that ends a run. The first reason stands; a signal handler stores the signal's number.
#[derive(Clone, Debug, Default)]
pub struct StopFlag {
    reason: Arc<AtomicUsize>,
}

/// No signal has this number: the run's time is over.
const TIME_OVER: usize = usize::MAX;

/// No signal has this one either: a worker cannot go on.
const FAILED: usize = usize::MAX - 1;

impl StopFlag {
    /// For `signal_hook::flag::register_usize`.
    pub fn flag(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.reason)
    }

    /// The time is over.
    pub fn time_over(&self) {
        self.set(TIME_OVER);
    }

    /// A worker cannot go on.
    pub fn failed(&self) {
        self.set(FAILED);
    }

    fn set(&self, reason: usize) {
        // The first reason stands.
        let _ = self
            .reason
            .compare_exchange(0, reason, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Whether to stop.
    pub fn is_set(&self) -> bool {
        self.reason.load(Ordering::SeqCst) != 0
    }

    /// The signal that asked for it.
    pub fn signal(&self) -> Option<usize> {
        match self.reason.load(Ordering::SeqCst) {
            0 | TIME_OVER | FAILED => None,
            signal => Some(signal),
        }
    }
}
