//! A panic is a defect of ours: one clear message, exit code 70.

use std::io::Write;

use super::exit::Exit;
use super::terminal;

/// Makes every panic, on any thread, say what happened, ask for a report, and end the process.
///
/// A worker that died quietly would leave a campaign that looks alive and tests nothing.
pub(super) fn install() {
    std::panic::set_hook(Box::new(|panic| {
        let message = panic
            .payload()
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.payload().downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        let place = panic
            .location()
            .map_or_else(String::new, |place| format!(" ({place})"));
        // Printing to a closed pipe panics in some libraries: the reader closed it, which is no defect.
        if message.contains("Broken pipe") {
            std::process::exit(Exit::Clean as i32);
        }
        let _ = writeln!(
            std::io::stderr(),
            "internal error: {}{place}\n\
             This is a defect of rashomon {}. Findings announced so far are on disk.\n\
             Please report it with the command line and the seed.",
            terminal::printable(&message),
            env!("CARGO_PKG_VERSION"),
        );
        std::process::exit(Exit::Internal as i32);
    }));
}
