//! A command of this program, run beside the view: what it prints, as it prints it.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use crossbeam_channel::{Receiver, Sender, TryRecvError, unbounded};

use crate::cli::exit::Exit;
use crate::model::printable;

/// A command that runs.
pub(super) struct RunningCommand {
    child: Child,
    lines: Receiver<String>,
    /// Everything that it printed was taken: its streams are closed.
    is_over: bool,
}

impl RunningCommand {
    /// Starts this program with other arguments; nothing is asked for, and no colours are printed.
    pub(super) fn start(arguments: &[OsString]) -> std::io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(arguments)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (sender, lines) = unbounded();
        if let Some(stdout) = child.stdout.take() {
            hand_over(stdout, sender.clone());
        }
        if let Some(stderr) = child.stderr.take() {
            hand_over(stderr, sender);
        }
        Ok(Self {
            child,
            lines,
            is_over: false,
        })
    }

    /// The lines that have come since the last call.
    pub(super) fn printed(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            match self.lines.try_recv() {
                Ok(line) => lines.push(line),
                Err(TryRecvError::Empty) => return lines,
                Err(TryRecvError::Disconnected) => {
                    self.is_over = true;
                    return lines;
                }
            }
        }
    }

    /// Its exit code, once it has ended and everything it printed was taken; as a shell has it where a
    /// signal ended it.
    pub(super) fn ended(&mut self) -> Option<i32> {
        if !self.is_over {
            return None;
        }
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => {
                let signal = std::os::unix::process::ExitStatusExt::signal(&status);
                let code = status.code();
                Some(code.unwrap_or_else(|| 128 + signal.unwrap_or_default()))
            }
            Err(_) => Some(Exit::Environment as i32),
        }
    }

    /// Has it stop as at Ctrl-C: in order.
    pub(super) fn stop(&self) {
        let pid = i32::try_from(self.child.id()).ok();
        if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
            // It may have ended meanwhile.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        }
    }
}

impl Drop for RunningCommand {
    /// Whoever leaves the view does not leave a replay behind.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.stop();
            let _ = self.child.wait();
        }
    }
}

/// Reads lines on a thread of their own: the program does not wait for it.
fn hand_over(stream: impl Read + Send + 'static, sender: Sender<String>) {
    let read = move || {
        for line in BufReader::new(stream).split(b'\n') {
            let Ok(line) = line else { return };
            let text = String::from_utf8_lossy(&line);
            // A progress line is written over and over.
            let text = text
                .rsplit('\r')
                .find(|part| !part.is_empty())
                .unwrap_or("");
            if sender.send(printable(text)).is_err() {
                return;
            }
        }
    };
    // Without a thread nothing is shown; the command runs all the same.
    let _ = std::thread::Builder::new()
        .name("output".to_owned())
        .spawn(read);
}
