//! What each worker of a run does at the moment, for people who look at it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::model::TestCase;

/// What a worker does at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It opens its connections and databases.
    Starting,
    /// It draws a case and has it judged.
    Judging { index: u64 },
    /// It runs a case again that showed a violation.
    Confirming { index: u64 },
    /// It makes a case smaller: statements beside begin and end, at first and by now.
    Minimizing { index: u64, from: usize, to: usize },
    /// The server was lost.
    AwaitingServer,
    /// There is nothing left to do.
    Ended,
}

/// The activities of all workers, by their numbers.
#[derive(Clone, Default)]
pub(super) struct ActivityBoard {
    entries: Arc<Mutex<Vec<Activity>>>,
}

impl ActivityBoard {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            entries: Arc::new(Mutex::new(vec![Activity::Starting; workers])),
        }
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Activity>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn all(&self) -> Vec<Activity> {
        self.entries().clone()
    }

    /// A worker that has no place on the board says nothing.
    pub(super) fn set(&self, worker: usize, activity: Activity) {
        if let Some(entry) = self.entries().get_mut(worker) {
            *entry = activity;
        }
    }
}

/// Where the pursuit of one violation says how far it is.
#[derive(Clone)]
pub(super) struct PursuitNote {
    board: ActivityBoard,
    worker: usize,
    index: u64,
}

impl PursuitNote {
    pub(super) fn new(board: &ActivityBoard, worker: usize, index: u64) -> Self {
        Self {
            board: board.clone(),
            worker,
            index,
        }
    }

    /// Of a pursuit outside of a run: it is heard nowhere.
    pub(super) fn unheard() -> Self {
        Self::new(&ActivityBoard::default(), 0, 0)
    }

    pub(super) fn confirming(&self) {
        let index = self.index;
        self.board.set(self.worker, Activity::Confirming { index });
    }

    /// `raw`: as it was found; `smallest`: as it is by now.
    pub(super) fn minimizing(&self, raw: &TestCase, smallest: &TestCase) {
        let size = |case: &TestCase| case.user_statements().count();
        let minimizing = Activity::Minimizing {
            index: self.index,
            from: size(raw),
            to: size(smallest),
        };
        self.board.set(self.worker, minimizing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::dialect_of;
    use crate::reproducer::case_of;

    #[test]
    fn a_pursuit_is_told_at_the_place_of_its_worker_with_what_is_left_of_the_case() {
        let dialect = dialect_of("mariadb", "11.8");
        let setup = "/* init */ CREATE TABLE t (a INT);\n";
        let case = |lines: &str| case_of(&format!("{setup}{lines}"), &dialect);
        let smallest = "/* s1 */ BEGIN;\n/* s1 */ SELECT 1;\n/* s1 */ COMMIT;\n";
        let (raw, smallest) = (
            case(&format!("{smallest}/* s2 */ SELECT 2;\n")),
            case(smallest),
        );
        let board = ActivityBoard::new(2);
        let note = PursuitNote::new(&board, 1, 22);
        note.confirming();
        assert_eq!(
            board.all(),
            [Activity::Starting, Activity::Confirming { index: 22 }]
        );
        note.minimizing(&raw, &smallest);
        let (index, from, to) = (22, 2, 1);
        assert_eq!(board.all()[1], Activity::Minimizing { index, from, to });
        // Nobody hears of it.
        PursuitNote::unheard().confirming();
    }
}
