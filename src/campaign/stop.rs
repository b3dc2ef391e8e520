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

/// The time is over, and what was under way has had its own.
const OVERTIME_OVER: usize = usize::MAX - 2;

impl StopFlag {
    /// For `signal_hook::flag::register_usize`.
    pub fn flag(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.reason)
    }

    /// The time is over.
    pub fn time_over(&self) {
        self.set(TIME_OVER);
    }

    /// The time is over, and so is what findings under way were given beyond it.
    pub fn overtime_over(&self) {
        self.change(TIME_OVER, OVERTIME_OVER);
    }

    /// A worker cannot go on.
    pub fn failed(&self) {
        self.set(FAILED);
    }

    fn set(&self, reason: usize) {
        // The first reason stands.
        self.change(0, reason);
    }

    fn change(&self, from: usize, to: usize) {
        let _ = self
            .reason
            .compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Whether to begin nothing more.
    pub fn is_set(&self) -> bool {
        self.reason.load(Ordering::SeqCst) != 0
    }

    /// Whether to end what is under way, too: a signal or a failure asks for it, not `--for` alone.
    pub fn is_urgent(&self) -> bool {
        !matches!(self.reason.load(Ordering::SeqCst), 0 | TIME_OVER)
    }

    /// The signal that asked for it.
    pub fn signal(&self) -> Option<usize> {
        match self.reason.load(Ordering::SeqCst) {
            0 | TIME_OVER | OVERTIME_OVER | FAILED => None,
            signal => Some(signal),
        }
    }
}
