//! Sitting out the absence of a server: it is told once, and the server is tried again until it is there or
//! the patience is over. A run does so before its first case and in every worker.

use std::time::{Duration, Instant};

use super::event::RunEvent;
use super::stop::StopFlag;
use crate::engine::EngineError;

/// The pauses between attempts to reach a lost server: from the first, doubled, to the last.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// How often a pause looks whether the run is over.
const NAP: Duration = Duration::from_millis(50);

/// The server or its connection is gone: it may come back.
pub fn is_loss(error: &EngineError) -> bool {
    matches!(
        error,
        EngineError::Connect { .. }
            | EngineError::ConnectionLost { .. }
            | EngineError::Hang { .. }
            | EngineError::Resource(_)
    )
}

/// A server that was lost and is back may refuse what it takes otherwise: it may be taking back the work of a
/// statement that was given up, and be short of locks meanwhile.
fn is_unwell(error: &EngineError) -> bool {
    matches!(error, EngineError::Rejected { .. })
}

/// What to do after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterLoss {
    TryAgain,
    /// The run was ended, and the server was tried once more since: it is down.
    Leave,
}

/// The absences of one server, as one who works on it meets them.
pub struct Absence {
    worker: usize,
    patience: Duration,
    stop: StopFlag,
    since: Option<Instant>,
    pause: Duration,
    /// The attempt under way began after the run was ended.
    is_last_attempt: bool,
}

impl Absence {
    /// Of a server that is there. `patience`: how long it may be away.
    pub fn none_yet(worker: usize, patience: Duration, stop: &StopFlag) -> Self {
        Self {
            worker,
            patience,
            stop: stop.clone(),
            since: None,
            pause: PAUSE_MIN,
            is_last_attempt: false,
        }
    }

    /// Whether an error says that the server is lost, or not well yet.
    pub fn explains(&self, error: &EngineError) -> bool {
        is_loss(error) || (self.since.is_some() && is_unwell(error))
    }

    /// The server answers: that it is back, where it was away.
    pub fn over(&mut self) -> Option<RunEvent> {
        let after = self.since.take()?.elapsed();
        self.pause = PAUSE_MIN;
        self.is_last_attempt = false;
        let worker = self.worker;
        Some(RunEvent::ServerBack { worker, after })
    }

    /// Notes a failed attempt: that the server is lost, where it was there before. `index`: of the case that
    /// was running.
    pub fn begins(&mut self, index: Option<u64>, error: &EngineError) -> Option<RunEvent> {
        if self.since.is_some() {
            return None;
        }
        self.since = Some(Instant::now());
        Some(RunEvent::ServerLost {
            worker: self.worker,
            index,
            error: error.to_string(),
        })
    }

    /// Waits until the server is worth another attempt.
    ///
    /// # Errors
    /// That the patience is over, in a sentence.
    pub fn sit_out(&mut self, error: &EngineError) -> Result<AfterLoss, String> {
        let away = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        if away > self.patience {
            let seconds = self.patience.as_secs();
            return Err(format!(
                "the server did not come back in {seconds} s: {error}"
            ));
        }
        // A run that ends while the server is away tries once more, to know whether it is down.
        if self.is_last_attempt || self.stop.signal().is_some() {
            return Ok(AfterLoss::Leave);
        }
        self.rest();
        self.is_last_attempt = self.stop.is_set();
        Ok(AfterLoss::TryAgain)
    }

    /// Waits, unless the run is over.
    fn rest(&mut self) {
        let start = Instant::now();
        while start.elapsed() < self.pause && !self.stop.is_set() {
            std::thread::sleep(NAP.min(self.pause));
        }
        self.pause = (self.pause * 2).min(PAUSE_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost() -> EngineError {
        EngineError::ConnectionLost {
            engine: "scripted",
            sql: "SELECT 1".to_owned(),
            cause: "reset by peer".to_owned(),
        }
    }

    fn refused() -> EngineError {
        EngineError::Rejected {
            engine: "scripted",
            sql: "SELECT 1".to_owned(),
            message: "the lock table is full".to_owned(),
        }
    }

    #[test]
    fn a_loss_is_told_once_and_its_end_once() {
        let mut absence = Absence::none_yet(3, Duration::from_secs(60), &StopFlag::default());
        assert_eq!(absence.over(), None);
        assert!(
            !absence.explains(&refused()),
            "a server that was never lost is well"
        );
        let told = absence.begins(Some(7), &lost());
        let is_of_the_case = |event: &RunEvent| {
            matches!(
                event,
                RunEvent::ServerLost {
                    worker: 3,
                    index: Some(7),
                    ..
                }
            )
        };
        assert!(told.as_ref().is_some_and(is_of_the_case), "{told:?}");
        assert_eq!(absence.sit_out(&lost()), Ok(AfterLoss::TryAgain));
        assert!(
            absence.explains(&refused()),
            "it may be unwell when it is back"
        );
        assert_eq!(absence.begins(Some(7), &refused()), None);
        assert!(matches!(
            absence.over(),
            Some(RunEvent::ServerBack { worker: 3, .. })
        ));
        assert_eq!(absence.over(), None);
        assert!(
            absence.begins(None, &lost()).is_some(),
            "another loss is told again"
        );
    }

    #[test]
    fn the_patience_ends_the_wait() {
        let mut absence = Absence::none_yet(0, Duration::ZERO, &StopFlag::default());
        absence.begins(None, &lost());
        std::thread::sleep(Duration::from_millis(2));
        let over = absence.sit_out(&lost()).expect_err("it is over");
        assert!(
            over.starts_with("the server did not come back in 0 s: "),
            "{over}"
        );
    }

    #[test]
    fn a_run_whose_time_is_over_tries_once_more_and_one_that_got_a_signal_does_not() {
        let stop = StopFlag::default();
        let mut absence = Absence::none_yet(0, Duration::from_secs(60), &stop);
        absence.begins(None, &lost());
        stop.time_over();
        assert_eq!(absence.sit_out(&lost()), Ok(AfterLoss::TryAgain));
        assert_eq!(absence.sit_out(&lost()), Ok(AfterLoss::Leave));
        let stop = StopFlag::default();
        stop.flag().store(2, std::sync::atomic::Ordering::SeqCst);
        let mut absence = Absence::none_yet(0, Duration::from_secs(60), &stop);
        absence.begins(None, &lost());
        assert_eq!(absence.sit_out(&lost()), Ok(AfterLoss::Leave));
    }
}
