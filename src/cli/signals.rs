//! Ctrl-C and SIGTERM: the first stops a command in order, the second ends it at once.

use std::sync::Arc;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::exit::{Exit, Failure};
use crate::campaign::StopFlag;

/// The first Ctrl-C or SIGTERM stops the run in order; the second ends the process at once.
pub(super) fn listen(stop: &StopFlag) -> Result<(), Failure> {
    for (signal, exit) in [(SIGINT, Exit::Interrupted), (SIGTERM, Exit::Terminated)] {
        let again = Arc::new(std::sync::atomic::AtomicBool::new(false));
        // In this order: the second signal meets the flag that the first one set.
        signal_hook::flag::register_conditional_shutdown(signal, exit as i32, Arc::clone(&again))
            .and_then(|_| signal_hook::flag::register(signal, again))
            .and_then(|_| {
                let number = usize::try_from(signal).unwrap_or_default();
                signal_hook::flag::register_usize(signal, stop.flag(), number)
            })
            .map_err(|error| Failure::environment(format!("cannot listen to signals: {error}")))?;
    }
    Ok(())
}

/// Has the first Ctrl-C or SIGTERM do this and end the process: for a command that stops in no order of its
/// own, and that would leave something behind.
pub(super) fn clean_up_and_end(clean_up: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let listening = Signals::new([SIGINT, SIGTERM]);
    let mut signals = listening
        .map_err(|error| Failure::environment(format!("cannot listen to signals: {error}")))?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            clean_up();
            let exit = Exit::of_signal(usize::try_from(signal).unwrap_or_default());
            std::process::exit(exit as i32);
        }
    });
    Ok(())
}
