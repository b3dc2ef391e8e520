//! The line on a terminal while a long check goes on.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::cli::memory_use::resident_bytes;
use crate::model::ConsistencyModel;

/// A line at the bottom of the terminal: what is done, for how long, and with how much memory.
/// Nothing is shown where standard error is no terminal.
pub(super) struct Waiting {
    bar: Mutex<Option<ProgressBar>>,
}

/// How often the line moves. A check that is over before the first time shows nothing.
const TICK: Duration = Duration::from_millis(250);

impl Waiting {
    pub(super) fn start() -> Self {
        Self {
            bar: Mutex::new(None),
        }
    }

    /// So much of a file was read; its size is nought where there is none, as of a pipe.
    pub(super) fn reads(&self, bytes: u64, size: u64) {
        let mebibytes = bytes >> 20;
        self.shows(match (bytes * 100).checked_div(size) {
            Some(percent) => format!("reading, {} %", percent.min(100)),
            None => format!("reading, {mebibytes} MB"),
        });
    }

    pub(super) fn checks(&self, model: ConsistencyModel, with: &str) {
        self.pause();
        self.shows(format!("checking {model} by {with}"));
    }

    fn shows(&self, message: String) {
        let mut bar = self.bar();
        bar.get_or_insert_with(bar_on_terminal).set_message(message);
    }

    /// Takes the line away, so that an answer can be printed.
    pub(super) fn pause(&self) {
        if let Some(bar) = self.bar().take() {
            bar.finish_and_clear();
        }
    }

    /// A thread that panicked leaves it as it is.
    fn bar(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.pause();
    }
}

/// Shows itself from its first tick on.
fn bar_on_terminal() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(4));
    if bar.is_hidden() {
        return bar;
    }
    let memory = |_: &ProgressState, out: &mut dyn std::fmt::Write| {
        let mebibytes = resident_bytes().unwrap_or(0) >> 20;
        // There is no other place to report a failure.
        let _ = write!(out, "{mebibytes} MB");
    };
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  {elapsed}, {memory}") {
        bar.set_style(style.with_key("memory", memory));
    }
    bar.enable_steady_tick(TICK);
    bar
}
