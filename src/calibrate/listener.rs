//! What follows a calibration while it runs, and may end it.

use crate::model::IsolationLevel;

/// Follows a calibration, and may end it.
pub trait CalibrationListener {
    /// The next probe begins. `done` entries are judged by now, at all levels together.
    fn probing(&mut self, level: IsolationLevel, subject: &str, done: usize);

    /// Whether to stop. Asked between statements, and while an answer is waited for.
    fn is_stopped(&self) -> bool;
}

/// Follows nothing and never stops.
pub struct Unattended;

impl CalibrationListener for Unattended {
    fn probing(&mut self, _level: IsolationLevel, _subject: &str, _done: usize) {}

    fn is_stopped(&self) -> bool {
        false
    }
}
