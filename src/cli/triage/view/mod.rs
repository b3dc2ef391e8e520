//! `rashomon triage DIR -i`: the groups of a folder on a terminal, and keys for what is done with them.
//!
//! What a key asks for is done by this program's own commands, as one would type them: the view shows what
//! they print.

mod command;
mod draw;
mod lanes;
mod rows;
mod state;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::layout::Rect;

use self::command::RunningCommand;
use self::draw::{ViewStyle, draw, page};
use self::lanes::lanes;
use self::rows::{LineTone, PaneLine};
use self::state::{ListedGroup, TriageView, ViewAction};
use super::findings::read;
use super::show;
use crate::campaign::{StopFlag, unix_seconds};
use crate::cli::exit::{Exit, Failure};
use crate::cli::signals;
use crate::reproducer;

/// How long a key is waited for before what runs is looked at.
const TICK: Duration = Duration::from_millis(100);

/// Shows the folder until the user leaves.
pub(super) fn run(folder: &Path) -> Result<Exit, Failure> {
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let is_dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb" || term.is_empty());
    if !is_terminal || is_dumb {
        return Err(Failure::usage(
            "-i needs a terminal for keys and for the screen; without -i the groups are listed",
        ));
    }
    let groups = listed(folder)?;
    let stop = StopFlag::default();
    signals::listen(&stop)?;
    let is_coloured = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut screen = TriageScreen {
        folder,
        view: TriageView {
            groups,
            ..TriageView::default()
        },
        running: None,
        style: ViewStyle { is_coloured },
    };
    let terminal = ratatui::try_init().map_err(|error| unusable(&error))?;
    let ended = screen.until_left(terminal, &stop);
    // Whatever happened, the terminal is as it was.
    ratatui::restore();
    ended
}

fn unusable(error: &std::io::Error) -> Failure {
    Failure::environment(format!("the terminal cannot be used: {error}"))
}

fn listed(folder: &Path) -> Result<Vec<ListedGroup>, Failure> {
    let now = unix_seconds();
    let groups = read(folder)?.groups;
    Ok(groups
        .iter()
        .map(|group| ListedGroup::of(group, now))
        .collect())
}

/// The view, and the command that runs beside it.
struct TriageScreen<'f> {
    folder: &'f Path,
    view: TriageView,
    running: Option<RunningCommand>,
    style: ViewStyle,
}

impl TriageScreen<'_> {
    fn until_left(
        &mut self,
        mut terminal: DefaultTerminal,
        stop: &StopFlag,
    ) -> Result<Exit, Failure> {
        let mut size = Rect::default();
        let mut has_changed = true;
        loop {
            if std::mem::take(&mut has_changed) {
                let drawn = terminal.draw(|frame| draw(frame, &self.view, self.style));
                size = drawn.map_err(|error| unusable(&error))?.area;
            }
            if stop.is_set() {
                return Ok(match stop.signal() {
                    Some(signal) if signal == signal_hook::consts::SIGTERM as usize => {
                        Exit::Terminated
                    }
                    Some(_) | None => Exit::Interrupted,
                });
            }
            if event::poll(TICK).map_err(|error| unusable(&error))? {
                let event = event::read().map_err(|error| unusable(&error))?;
                has_changed = true;
                if let Event::Key(key) = event
                    && key.kind != KeyEventKind::Release
                    && let Some(action) = self.view.key(key, page(size))
                    && self.act(action)
                {
                    return Ok(Exit::Clean);
                }
            }
            has_changed |= self.running.is_some();
            self.look_at_command();
        }
    }

    /// Does what a key asks for; whether that is to leave.
    fn act(&mut self, action: ViewAction) -> bool {
        let Some(group) = self.view.chosen().cloned() else {
            return action == ViewAction::Leave;
        };
        let folder = self.folder.as_os_str().to_owned();
        let triage = |words: &[&str]| {
            let head = [OsString::from("triage"), folder.clone()];
            let rest = words.iter().map(OsString::from);
            head.into_iter().chain(rest).collect::<Vec<OsString>>()
        };
        match action {
            ViewAction::Leave => return true,
            ViewAction::Open => self.open(&group),
            ViewAction::Cancel => {
                if let Some(running) = &self.running {
                    running.stop();
                }
            }
            ViewAction::Unmark => self.start(&triage(&["unmark", &group.id])),
            ViewAction::Mark(answer) => {
                let (why, note) = split(&answer);
                let mut words = vec!["mark", &group.id];
                match why {
                    "not-a-bug" => words.push("--not-a-bug"),
                    url if url.contains("://") => words.extend(["--upstream", url]),
                    id => words.extend(["--known", id]),
                }
                if !note.is_empty() {
                    words.extend(["--note", note]);
                }
                self.start(&triage(&words));
            }
            ViewAction::Replay(target) => {
                let words = target.split_whitespace();
                let words = ["replay", group.path.as_str()].into_iter().chain(words);
                self.start(&words.map(OsString::from).collect::<Vec<_>>());
            }
            ViewAction::Export(answer) => {
                let (format, file) = split(&answer);
                let default = format!("{}-{}.{format}", group.anomaly.replace(' ', "-"), group.id);
                let file = if file.is_empty() { &default } else { file };
                let words = ["export", &group.path, "--to", format, "-o", file];
                self.start(&words.map(OsString::from));
            }
        }
        false
    }

    fn open(&mut self, group: &ListedGroup) {
        let found = read(self.folder).and_then(|folder| {
            let group = super::findings::find(&folder, &group.id)?;
            let mut lines = show::plain_words(group);
            lines.push(String::new());
            let case = reproducer::load(&group.first_file().path);
            Ok((lines, case))
        });
        let (words, case) = match found {
            Ok(found) => found,
            Err(failure) => {
                self.view.told = crate::model::printable(&failure.message).replace('\n', " ");
                return;
            }
        };
        let tone = |at: usize| match at {
            0 => LineTone::Bold,
            1 => LineTone::Wrong,
            _ => LineTone::Plain,
        };
        let words = words.into_iter().enumerate();
        let mut lines: Vec<PaneLine> = words
            .map(|(at, text)| PaneLine {
                tone: tone(at),
                text,
            })
            .collect();
        match case {
            Ok(case) => lines.extend(lanes(&case)),
            Err(error) => lines.push(PaneLine {
                tone: LineTone::Wrong,
                text: crate::model::printable(&error.to_string()).replace('\n', " "),
            }),
        }
        self.view.show(lines);
    }

    /// Starts a command, whose output the pane shows.
    fn start(&mut self, arguments: &[OsString]) {
        if self.running.is_some() {
            "something runs already: Esc stops it".clone_into(&mut self.view.told);
            return;
        }
        let words: Vec<String> = arguments
            .iter()
            .map(|word| crate::cli::shell::word(&word.to_string_lossy()).into_owned())
            .collect();
        let asked = PaneLine {
            tone: LineTone::Bold,
            text: crate::model::printable(&format!("rashomon {}", words.join(" "))),
        };
        self.view.show(vec![asked]);
        match RunningCommand::start(arguments) {
            Ok(running) => {
                self.running = Some(running);
                self.view.is_busy = true;
            }
            Err(error) => self.view.told = format!("it cannot be started: {error}"),
        }
    }

    /// Takes what the command has printed; at its end the groups are read again.
    fn look_at_command(&mut self) {
        let Some(running) = &mut self.running else {
            return;
        };
        let printed = running.printed().into_iter();
        let pane = self.view.pane.get_or_insert_default();
        pane.extend(printed.map(|text| PaneLine {
            tone: LineTone::Plain,
            text,
        }));
        let Some(code) = running.ended() else {
            return;
        };
        self.running = None;
        self.view.is_busy = false;
        self.view.told = format!("ended with exit code {code}");
        match listed(self.folder) {
            Ok(groups) => self.view.renew(groups),
            Err(failure) => self.view.told = failure.message,
        }
    }
}

/// The first word, and what stands behind it.
fn split(answer: &str) -> (&str, &str) {
    let (first, rest) = answer
        .split_once(char::is_whitespace)
        .unwrap_or((answer, ""));
    (first, rest.trim())
}
