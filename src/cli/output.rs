//! Standard output: lines of text or of JSON.

use std::io::{self, Write};

use super::exit::{Exit, Failure};

/// Standard output of a command.
pub(super) struct Output {
    stream: io::Stdout,
}

impl Output {
    pub(super) fn new() -> Self {
        Self {
            stream: io::stdout(),
        }
    }

    /// Writes one line and flushes it, so that a reader of a pipe sees it at once.
    ///
    /// # Errors
    /// When the reader went away: the command ends with what it would have ended with, so far
    /// clean. A full disk behind a redirection is the environment's fault.
    pub(super) fn line(&mut self, text: &str) -> Result<(), Failure> {
        let mut stream = self.stream.lock();
        let written = writeln!(stream, "{text}").and_then(|()| stream.flush());
        written.map_err(|error| {
            if error.kind() == io::ErrorKind::BrokenPipe {
                return Failure {
                    exit: Exit::Clean,
                    message: String::new(),
                };
            }
            Failure::environment(format!("cannot write to standard output: {error}"))
        })
    }

    /// Writes one JSON object as a line.
    ///
    /// # Errors
    /// As [`Output::line`].
    pub(super) fn json(&mut self, value: &serde_json::Value) -> Result<(), Failure> {
        self.line(&value.to_string())
    }
}
