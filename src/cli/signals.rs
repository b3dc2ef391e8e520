//! Ctrl-C and SIGTERM: the first stops a command in order, the second ends it at once.

use std::sync::Arc;

use signal_hook::consts::{SIGINT, SIGTERM};

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
