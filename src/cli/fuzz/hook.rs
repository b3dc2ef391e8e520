//! `--on-finding CMD`: a command of the user's that is told of each finding.

use std::collections::VecDeque;
use std::io::{Seek, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the commands that are still due may take once the run has ended.
const FINISH_WITHIN: Duration = Duration::from_secs(60);

/// How often a command is looked at that the end of the run waits for.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Calls the command for one finding after the other, in the order in which they were announced.
pub(super) struct FindingHook {
    /// For `sh -c`.
    command: String,
    /// Findings that the command is still to be told of, as JSON.
    due: VecDeque<String>,
    running: Option<Child>,
}

impl FindingHook {
    pub(super) fn new(command: &str) -> Self {
        Self {
            command: command.to_owned(),
            due: VecDeque::new(),
            running: None,
        }
    }

    /// Has the command called with this text on its standard input.
    pub(super) fn tell(&mut self, json: String) {
        self.due.push_back(json);
    }

    /// Starts the next call where none is running. Says what went wrong with calls that ended.
    pub(super) fn look(&mut self) -> Vec<String> {
        let mut troubles = Vec::new();
        loop {
            if let Some(child) = &mut self.running {
                match child.try_wait() {
                    Ok(None) => return troubles,
                    Ok(Some(status)) if status.success() => {}
                    Ok(Some(status)) => troubles.push(self.trouble(&status.to_string())),
                    Err(error) => troubles.push(self.trouble(&error.to_string())),
                }
                self.running = None;
            }
            let Some(json) = self.due.pop_front() else {
                return troubles;
            };
            match self.call(&json) {
                Ok(child) => self.running = Some(child),
                Err(error) => troubles.push(self.trouble(&error.to_string())),
            }
        }
    }

    /// Waits for the calls that are due, for a minute at most.
    pub(super) fn finish(&mut self) -> Vec<String> {
        let began = Instant::now();
        let mut troubles = self.look();
        while self.running.is_some() {
            if began.elapsed() > FINISH_WITHIN {
                let left = self.due.len() + 1;
                let seconds = FINISH_WITHIN.as_secs();
                troubles.push(self.trouble(&format!(
                    "it runs for more than {seconds} s after the end of the run; {left} of its \
                     calls are not waited for"
                )));
                return troubles;
            }
            std::thread::sleep(LOOK_EVERY);
            troubles.extend(self.look());
        }
        troubles
    }

    /// Its standard output goes to ours for errors: standard output may be read by a program.
    fn call(&self, json: &str) -> std::io::Result<Child> {
        // A file, not a pipe: a command that does not read must not keep the run back.
        let mut input = tempfile::tempfile()?;
        input.write_all(json.as_bytes())?;
        input.write_all(b"\n")?;
        input.rewind()?;
        Command::new("sh")
            .args(["-c", &self.command])
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(std::io::stderr()))
            .spawn()
    }

    fn trouble(&self, what: &str) -> String {
        format!("--on-finding {:?}: {what}", self.command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_is_told_once_and_in_order() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("told");
        let mut hook = FindingHook::new(&format!("sleep 0.05; cat >> '{}'", file.display()));
        let mut troubles = Vec::new();
        for number in 0..4 {
            hook.tell(format!("{{\"n\":{number}}}"));
            troubles.extend(hook.look());
        }
        troubles.extend(hook.finish());
        assert_eq!(troubles, Vec::<String>::new());
        let told = std::fs::read_to_string(&file).expect("it was written");
        assert_eq!(told, "{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
    }

    #[test]
    fn a_command_that_fails_is_told_of_and_the_next_finding_is_told_all_the_same() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("told");
        let mut hook = FindingHook::new(&format!("echo x >> '{}'; exit 3", file.display()));
        hook.tell("{}".to_owned());
        hook.tell("{}".to_owned());
        let troubles = hook.finish();
        assert_eq!(troubles.len(), 2, "{troubles:?}");
        assert!(troubles[0].contains("exit status: 3"), "{troubles:?}");
        let told = std::fs::read_to_string(&file).expect("it was written");
        assert_eq!(told, "x\nx\n");
    }
}
