//! The user's command that kills the server and starts it again.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::engine::EngineError;

/// How often the command is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How much of the end of the command's output a message repeats, in bytes.
const OUTPUT_MAX: u64 = 2_000;

/// A command that kills the server, hard, and starts it again. `docs/oracle-recovery.md` has its
/// contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestartCommand {
    /// For `sh -c`.
    pub command: String,
    /// How long the command may take, and as long again the server until it answers.
    pub patience: Duration,
}

/// The command under way.
pub(super) struct Restarting<'c> {
    of: &'c RestartCommand,
    child: Child,
    /// Its standard output and its errors. No pipe: the server that it starts may keep them.
    output: File,
    since: Instant,
    status: Option<ExitStatus>,
}

impl RestartCommand {
    /// Starts the command, in a process group of its own: Ctrl-C must not reach the server that it starts.
    pub(super) fn start(&self) -> Result<Restarting<'_>, EngineError> {
        let started = || -> std::io::Result<(Child, File)> {
            let output = tempfile::tempfile()?;
            let child = Command::new("sh")
                .args(["-c", &self.command])
                .stdin(Stdio::null())
                .stdout(Stdio::from(output.try_clone()?))
                .stderr(Stdio::from(output.try_clone()?))
                .process_group(0)
                .spawn()?;
            Ok((child, output))
        };
        let (child, output) = started().map_err(|error| self.failed(&error.to_string()))?;
        Ok(Restarting {
            of: self,
            child,
            output,
            since: Instant::now(),
            status: None,
        })
    }

    /// Something is wrong with the command.
    pub(super) fn failed(&self, what: &str) -> EngineError {
        EngineError::Restart {
            command: self.command.clone(),
            what: what.to_owned(),
        }
    }
}

impl Restarting<'_> {
    /// Whether the command has ended.
    pub(super) fn has_ended(&mut self) -> Result<bool, EngineError> {
        if self.status.is_none() {
            let looked = self.child.try_wait();
            self.status = looked.map_err(|error| self.of.failed(&error.to_string()))?;
        }
        Ok(self.status.is_some())
    }

    /// Waits until the command has ended, and proves that it says it went well.
    pub(super) fn finish(mut self) -> Result<(), EngineError> {
        while !self.has_ended()? {
            if self.since.elapsed() > self.of.patience {
                // What it started in the background goes on; the command itself does not.
                if let Err(error) = self.child.kill().and_then(|()| self.child.wait()) {
                    tracing::debug!("the restart command stays: {error}");
                }
                let seconds = self.of.patience.as_secs();
                let output = self.output();
                return Err(self
                    .of
                    .failed(&format!("has not ended after {seconds} s{output}")));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        match self.status {
            Some(status) if !status.success() => {
                let output = self.output();
                Err(self.of.failed(&format!("failed ({status}){output}")))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The end of the command's output, for a message.
    fn output(&mut self) -> String {
        let mut read = || -> std::io::Result<Vec<u8>> {
            let length = self.output.seek(SeekFrom::End(0))?;
            let from = length.saturating_sub(OUTPUT_MAX);
            self.output.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            self.output.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        match text.trim() {
            "" => " without any output".to_owned(),
            text => format!("; the end of its output: {text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(command: &str, patience: Duration) -> Option<String> {
        let command = RestartCommand {
            command: command.to_owned(),
            patience,
        };
        let ended = command.start().and_then(Restarting::finish);
        ended.err().map(|error| error.to_string())
    }

    #[test]
    fn a_command_that_fails_is_told_with_its_status_and_its_output() {
        let patience = Duration::from_secs(10);
        assert_eq!(told("true", patience), None);
        let failed = told("echo no such unit >&2; exit 3", patience).expect("it failed");
        assert!(failed.contains("exit status: 3"), "{failed}");
        assert!(failed.contains("no such unit"), "{failed}");
        let silent = told("exit 4", patience).expect("it failed");
        assert!(silent.contains("without any output"), "{silent}");
    }

    #[test]
    fn a_server_that_keeps_the_output_open_keeps_nothing_waiting() {
        let began = Instant::now();
        assert_eq!(told("sleep 5 & exit 0", Duration::from_secs(10)), None);
        assert!(began.elapsed() < Duration::from_secs(4));
    }

    #[test]
    fn a_command_that_does_not_end_is_given_up() {
        let late = told("echo waiting; sleep 5", Duration::from_millis(100)).expect("it is late");
        assert!(
            late.contains("has not ended") && late.contains("waiting"),
            "{late}"
        );
    }
}
