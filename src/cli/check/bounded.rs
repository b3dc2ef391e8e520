//! A check that is given up from outside: not every checker looks at its budget while it works.

use std::panic::resume_unwind;
use std::thread::Builder;
use std::time::{Duration, Instant};

use crossbeam_channel::{RecvTimeoutError, bounded};

use crate::checker::Budget;
use crate::cli::exit::Failure;

/// How often the budget is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// What a checker that looks at its budget gets to end by itself: it says what it has proved.
const GRACE: Duration = Duration::from_millis(100);

/// As large as that of a main thread.
const STACK_BYTES: usize = 8 << 20;

/// Does the work in a thread of its own; nothing when the budget is over before it is done. The
/// thread goes on then, and ends with the program.
///
/// # Errors
/// When no thread can be had.
pub(super) fn within<T: Send + 'static>(
    budget: Budget,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>, Failure> {
    if budget.deadline.is_none() && budget.stop.is_none() {
        return Ok(Some(work()));
    }
    let (sender, done) = bounded(1);
    let worker = Builder::new()
        .name("checker".to_owned())
        .stack_size(STACK_BYTES)
        // After it was given up there is no receiver any more.
        .spawn(move || drop(sender.send(work())))
        .map_err(|error| Failure::environment(format!("cannot start a thread: {error}")))?;
    let mut over_since: Option<Instant> = None;
    loop {
        match done.recv_timeout(LOOK_INTERVAL) {
            Ok(done) => return Ok(Some(done)),
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => return Ok(None),
            },
            Err(RecvTimeoutError::Timeout) if budget.is_over() => {
                let since = *over_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= GRACE {
                    return Ok(None);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_does_not_look_at_its_budget_is_given_up() {
        let (_keep, never) = bounded::<()>(0);
        let budget = Budget::of(Some(Duration::ZERO));
        let given_up = within(budget, move || never.recv().is_ok()).expect("a thread");
        assert_eq!(given_up, None);
    }

    #[test]
    fn work_that_is_done_in_time_is_told() {
        let budget = Budget::of(Some(Duration::from_secs(600)));
        assert_eq!(within(budget, || 7).expect("a thread"), Some(7));
        assert_eq!(within(Budget::default(), || 7).expect("none"), Some(7));
    }
}
