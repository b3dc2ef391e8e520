//! A server of one version in a container, which is gone when the command ends.

use std::io::{Read as _, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::image_name::ImageName;
use crate::cli::exit::Failure;

/// The program that runs containers, by name; `none` where there shall be none. As for `scripts/engine`.
const ENGINE_VARIABLE: &str = "RASHOMON_CONTAINER";

/// How long the program may take to say that it can run containers.
const INFO_WITHIN: Duration = Duration::from_secs(10);

/// How long it may take to fetch an image and start it.
const START_WITHIN: Duration = Duration::from_secs(1800);

/// How long it may take to answer a question about a container, or to remove it.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How much of a message of the program is repeated, in lines from its end.
const LINES_MAX: usize = 5;

/// docker, podman, or what takes their commands.
#[derive(Clone, Debug)]
pub(super) struct ContainerEngine {
    program: String,
    current: Arc<Mutex<Current>>,
}

/// What a signal has to clean up.
#[derive(Debug, Default)]
struct Current {
    /// The container that was asked for and is not removed yet.
    name: Option<String>,
    /// The program, while it fetches an image and starts it.
    starting: Option<Child>,
}

/// The program that ended: whether it went well, and what it wrote.
struct ProgramRun {
    status: ExitStatus,
    output: String,
}

impl ContainerEngine {
    /// The one that `RASHOMON_CONTAINER` names, else docker or podman, whichever answers.
    ///
    /// # Errors
    /// When none of them answers.
    pub(super) fn find() -> Result<Self, Failure> {
        let named = std::env::var(ENGINE_VARIABLE).unwrap_or_default();
        let programs = match named.as_str() {
            "" => vec!["docker", "podman"],
            "none" => Vec::new(),
            named => vec![named],
        };
        let answers = |program: &&&str| {
            let ended = run(program, &["info"], INFO_WITHIN);
            ended.is_ok_and(|ended| ended.status.success())
        };
        let found = programs.iter().find(answers);
        let program = found.ok_or_else(|| {
            let asked = match programs.as_slice() {
                [] => format!("{ENGINE_VARIABLE} is none"),
                programs => format!("`{} info` fails", programs.join(" info` and `")),
            };
            Failure::environment(format!(
                "a version that is an image needs a container engine, and none answers ({asked}): start \
                 docker or podman, name another program in {ENGINE_VARIABLE}, or start a server of each \
                 version yourself and give its URL"
            ))
        })?;
        Ok(Self {
            program: (*program).to_owned(),
            current: Arc::default(),
        })
    }

    /// Starts a server under a name that no other container has. Its port is one of the loopback address that
    /// was free.
    ///
    /// # Errors
    /// Why there is no server, in a line.
    pub(super) fn start(
        &self,
        image: &ImageName,
        name: &str,
        options: &[String],
    ) -> Result<Container<'_>, String> {
        let publish = format!("127.0.0.1::{}", image.image.port);
        let mut arguments = vec!["run", "-d", "--name", name, "-p", &publish];
        for variable in image.image.environment {
            arguments.extend(["-e", variable]);
        }
        arguments.push(&image.reference);
        arguments.extend(options.iter().map(String::as_str));
        let container = Container { engine: self };
        let started = self.run_named(name, &arguments)?;
        if !started.status.success() {
            return Err(started.message(&self.program, "run"));
        }
        Ok(container)
    }

    /// As [`run`], and a signal ends the program and removes the container.
    fn run_named(&self, name: &str, arguments: &[&str]) -> Result<ProgramRun, String> {
        let output = {
            let mut current = self.lock();
            current.name = Some(name.to_owned());
            let (child, output) = spawn(&self.program, arguments)?;
            current.starting = Some(child);
            output
        };
        let began = Instant::now();
        loop {
            {
                let mut current = self.lock();
                let starting = current.starting.as_mut();
                let child = starting.ok_or("it was ended")?;
                let ended = child.try_wait().map_err(|error| error.to_string())?;
                if let Some(status) = ended {
                    current.starting = None;
                    return Ok(ProgramRun::new(status, output));
                }
            }
            if began.elapsed() > START_WITHIN {
                return Err(format!(
                    "{} has not started it within {} s",
                    self.program,
                    START_WITHIN.as_secs()
                ));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// For a signal: removes what there is, and has nothing started any more.
    pub(super) fn remove_for_good(&self) {
        let mut current = self.lock();
        self.remove(&mut current);
        // The process ends now: who starts a container waits for this lock.
        std::mem::forget(current);
    }

    fn remove(&self, current: &mut Current) {
        if let Some(mut child) = current.starting.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
        let Some(name) = current.name.take() else {
            return;
        };
        let removed = run(&self.program, &["rm", "-f", "-v", &name], ANSWER_WITHIN);
        let trouble = match removed {
            Ok(ended) if ended.status.success() => return,
            Ok(ended) => ended.message(&self.program, "rm"),
            Err(error) => error,
        };
        tracing::warn!(
            "the container {name} may be left ({trouble}); `{} rm -f -v {name}` removes it",
            self.program
        );
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A container that was asked for. It is removed when this goes, started or not.
pub(super) struct Container<'e> {
    engine: &'e ContainerEngine,
}

impl Container<'_> {
    /// The port of the loopback address where the server's own port is.
    ///
    /// # Errors
    /// When the program tells none.
    pub(super) fn port(&self, inner: u16) -> Result<u16, String> {
        let ended = self.ask(&["port"], &[&inner.to_string()])?;
        let ports = ended.output.lines().filter_map(|line| {
            let (_, port) = line.trim().rsplit_once(':')?;
            port.parse().ok()
        });
        let port = ports.into_iter().next();
        port.filter(|_| ended.status.success())
            .ok_or_else(|| ended.message(&self.engine.program, "port"))
    }

    /// Whether its server still runs; else the last lines that it wrote.
    ///
    /// # Errors
    /// Why it does not run, or why nothing is known.
    pub(super) fn still_runs(&self) -> Result<(), String> {
        let state = self.ask(&["inspect", "-f", "{{.State.Running}}"], &[])?;
        if state.output.trim() == "true" {
            return Ok(());
        }
        let lines = LINES_MAX.to_string();
        let log = self.ask(&["logs", "--tail", &lines], &[])?;
        Err(format!("its server ended: {}", last_lines(&log.output)))
    }

    fn ask(&self, before: &[&str], after: &[&str]) -> Result<ProgramRun, String> {
        let name = self.engine.lock().name.clone().unwrap_or_default();
        let arguments = [before, &[name.as_str()], after].concat();
        run(&self.engine.program, &arguments, ANSWER_WITHIN)
    }
}

impl Drop for Container<'_> {
    fn drop(&mut self) {
        self.engine.remove(&mut self.engine.lock());
    }
}

impl ProgramRun {
    fn new(status: ExitStatus, mut output: std::fs::File) -> Self {
        let mut bytes = Vec::new();
        // What cannot be read is not told.
        let _ = output
            .rewind()
            .and_then(|()| output.read_to_end(&mut bytes));
        let output = String::from_utf8_lossy(&bytes).into_owned();
        Self { status, output }
    }

    fn message(&self, program: &str, command: &str) -> String {
        let told = last_lines(&self.output);
        format!("`{program} {command}` failed ({}): {told}", self.status)
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let first = lines.len().saturating_sub(LINES_MAX);
    lines[first..].join("; ")
}

/// Starts the program in a process group of its own, so that Ctrl-C ends it by us alone. Its output and its
/// errors go into one file: a pipe would have to be emptied.
fn spawn(program: &str, arguments: &[&str]) -> Result<(Child, std::fs::File), String> {
    let started = || -> std::io::Result<(Child, std::fs::File)> {
        let output = tempfile::tempfile()?;
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::from(output.try_clone()?))
            .stderr(Stdio::from(output.try_clone()?))
            .process_group(0)
            .spawn()?;
        Ok((child, output))
    };
    started().map_err(|error| format!("{program} cannot be run: {error}"))
}

/// Runs the program to its end, and ends it after this time.
fn run(program: &str, arguments: &[&str], within: Duration) -> Result<ProgramRun, String> {
    let (mut child, output) = spawn(program, arguments)?;
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(ProgramRun::new(status, output));
        }
        if began.elapsed() > within {
            let _ = child.kill();
            let _ = child.wait();
            let command = arguments.first().copied().unwrap_or_default();
            let seconds = within.as_secs();
            return Err(format!(
                "`{program} {command}` did not end within {seconds} s"
            ));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
