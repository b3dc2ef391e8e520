//! What the terminal view of `triage` shows, and how keys change it. Nothing here draws or runs.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::rows::{LineTone, PaneLine, ViewPage, rows};
use crate::triage::{Group, GroupState};

/// A group as the list shows it; every text is printable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedGroup {
    pub(super) id: String,
    pub(super) state: GroupState,
    pub(super) anomaly: String,
    pub(super) engines: String,
    pub(super) levels: String,
    pub(super) sightings: u64,
    /// How long ago it was seen last.
    pub(super) last: String,
    pub(super) headline: String,
    /// The case to read first.
    pub(super) path: String,
}

/// What is asked for on the last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Search,
    Mark,
    Target,
    Export,
}

impl Question {
    /// What stands before the answer.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Search => "search: ",
            Self::Mark => "known as (ID, URL or not-a-bug; then a note): ",
            Self::Target => "replay on: ",
            Self::Export => "export to (FORMAT [FILE]): ",
        }
    }
}

/// What a key asks the program to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ViewAction {
    Leave,
    /// Show a group in full.
    Open,
    Mark(String),
    Unmark,
    Replay(String),
    Export(String),
    /// Stop what runs.
    Cancel,
}

/// The state of the view.
#[derive(Debug, Default)]
pub(super) struct TriageView {
    pub(super) groups: Vec<ListedGroup>,
    /// Only groups of this state are listed.
    pub(super) only: Option<GroupState>,
    pub(super) search: String,
    /// The place of the chosen group among those that are listed.
    pub(super) chosen: usize,
    /// What the lower part of the screen shows, and from which row on: a group, a command's output, or the keys.
    pub(super) pane: Option<Vec<PaneLine>>,
    pub(super) scrolled: usize,
    /// What is being asked, and the answer so far.
    pub(super) asked: Option<(Question, String)>,
    /// The target that was named last.
    pub(super) target: String,
    /// What was done last, for the last line.
    pub(super) told: String,
    /// A command runs.
    pub(super) is_busy: bool,
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a library's keys, of which most mean nothing here"
)]
impl TriageView {
    /// The groups that are listed, in their order.
    pub(super) fn listed(&self) -> Vec<&ListedGroup> {
        let sought = self.search.to_lowercase();
        let is_sought = |group: &&ListedGroup| {
            let texts = [&group.id, &group.anomaly, &group.engines, &group.levels];
            let mut texts = texts.into_iter().chain([&group.headline, &group.path]);
            self.only.is_none_or(|only| group.state == only)
                && texts.any(|text| text.to_lowercase().contains(&sought))
        };
        self.groups.iter().filter(is_sought).collect()
    }

    /// The group that keys act on.
    pub(super) fn chosen(&self) -> Option<&ListedGroup> {
        self.listed().get(self.chosen).copied()
    }

    /// Takes groups that were read again; the chosen one stays chosen.
    pub(super) fn renew(&mut self, groups: Vec<ListedGroup>) {
        let id = self.chosen().map(|group| group.id.clone());
        self.groups = groups;
        let place = self
            .listed()
            .iter()
            .position(|g| Some(&g.id) == id.as_ref());
        self.chosen = place.unwrap_or(self.chosen);
        self.keep_in_list();
    }

    fn keep_in_list(&mut self) {
        self.chosen = self.chosen.min(self.listed().len().saturating_sub(1));
    }

    /// Takes a key on a screen of which `page` is what the list or the pane shows.
    pub(super) fn key(&mut self, key: KeyEvent, page: ViewPage) -> Option<ViewAction> {
        let is_interrupt =
            key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
        if is_interrupt {
            return Some(match self.is_busy {
                true => ViewAction::Cancel,
                false => ViewAction::Leave,
            });
        }
        self.told.clear();
        match self.asked.take() {
            Some((question, answer)) => self.answer(key.code, question, answer),
            None if self.pane.is_some() => self.key_of_pane(key.code, page),
            None => self.key_of_list(key.code, page),
        }
    }

    fn answer(
        &mut self,
        key: KeyCode,
        question: Question,
        mut answer: String,
    ) -> Option<ViewAction> {
        match key {
            KeyCode::Enter => {
                let answer = answer.trim().to_owned();
                if question == Question::Search {
                    self.search = answer;
                    self.chosen = 0;
                    return None;
                }
                return (!answer.is_empty()).then(|| match question {
                    Question::Search | Question::Mark => ViewAction::Mark(answer),
                    Question::Target => {
                        self.target.clone_from(&answer);
                        ViewAction::Replay(answer)
                    }
                    Question::Export => ViewAction::Export(answer),
                });
            }
            KeyCode::Esc => return None,
            KeyCode::Backspace => {
                answer.pop();
            }
            KeyCode::Char(letter) if !letter.is_control() => answer.push(letter),
            _ => {}
        }
        self.asked = Some((question, answer));
        None
    }

    fn key_of_pane(&mut self, key: KeyCode, page: ViewPage) -> Option<ViewAction> {
        let lines = self.pane.as_deref().unwrap_or_default();
        let last = page.last_of(rows(lines, page.columns).len());
        self.scrolled = self.scrolled.min(last);
        match key {
            KeyCode::Esc | KeyCode::Char('q') if self.is_busy => return Some(ViewAction::Cancel),
            KeyCode::Esc | KeyCode::Char('q') | KeyCode::Left => self.pane = None,
            KeyCode::Down | KeyCode::Char('j') => self.scrolled = (self.scrolled + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') => self.scrolled = self.scrolled.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => {
                self.scrolled = (self.scrolled + page.rows).min(last);
            }
            KeyCode::PageUp => self.scrolled = self.scrolled.saturating_sub(page.rows),
            KeyCode::Home => self.scrolled = 0,
            KeyCode::End => self.scrolled = last,
            key => return self.key_of_group(key),
        }
        None
    }

    fn key_of_list(&mut self, key: KeyCode, page: ViewPage) -> Option<ViewAction> {
        // The headings of the list take a row.
        let page = page.rows.saturating_sub(1).max(1);
        match key {
            KeyCode::Char('q') => return Some(ViewAction::Leave),
            KeyCode::Esc if self.only.is_none() && self.search.is_empty() => {
                return Some(ViewAction::Leave);
            }
            KeyCode::Esc => {
                (self.only, self.search) = (None, String::new());
                self.chosen = 0;
            }
            KeyCode::Down | KeyCode::Char('j') => self.chosen += 1,
            KeyCode::Up | KeyCode::Char('k') => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.chosen += page,
            KeyCode::PageUp => self.chosen = self.chosen.saturating_sub(page),
            KeyCode::Home => self.chosen = 0,
            KeyCode::End => self.chosen = usize::MAX,
            KeyCode::Char('/') => self.asked = Some((Question::Search, self.search.clone())),
            KeyCode::Char('s') => {
                self.only = next_state(self.only);
                self.chosen = 0;
            }
            KeyCode::Enter | KeyCode::Right => {
                return self.chosen().is_some().then_some(ViewAction::Open);
            }
            key => return self.key_of_group(key),
        }
        self.keep_in_list();
        None
    }

    /// Keys that act on the chosen group, in the list and where it is open.
    fn key_of_group(&mut self, key: KeyCode) -> Option<ViewAction> {
        if key == KeyCode::Char('?') {
            self.show(keys());
            return None;
        }
        let path = self.chosen()?.path.clone();
        let question = match key {
            KeyCode::Char('m') => Question::Mark,
            KeyCode::Char('r') => Question::Target,
            KeyCode::Char('e') => Question::Export,
            KeyCode::Char('u') => return Some(ViewAction::Unmark),
            KeyCode::Char('y') => {
                self.told = path;
                return None;
            }
            _ => return None,
        };
        let answer = match question {
            Question::Target => self.target.clone(),
            Question::Search | Question::Mark | Question::Export => String::new(),
        };
        self.asked = Some((question, answer));
        None
    }

    /// Shows lines from the first on.
    pub(super) fn show(&mut self, lines: Vec<PaneLine>) {
        self.pane = Some(lines);
        self.scrolled = 0;
    }
}

fn next_state(only: Option<GroupState>) -> Option<GroupState> {
    let states = GroupState::ALL;
    match only {
        None => states.first().copied(),
        Some(only) => {
            let place = states.iter().position(|state| *state == only);
            place.and_then(|place| states.get(place + 1)).copied()
        }
    }
}

/// The keys, for people.
fn keys() -> Vec<PaneLine> {
    let keys = [
        ("up, down, j, k", "move; PageUp, PageDown, Home, End"),
        (
            "Enter",
            "open the group: what is wrong, the sessions side by side",
        ),
        (
            "/",
            "search in signature, anomaly, engine, level, headline, path",
        ),
        ("s", "list the groups of one state, of the next, of all"),
        ("r", "replay the case on a server"),
        (
            "m",
            "mark: MDEV-26642 a note | https://.. a note | not-a-bug a note",
        ),
        ("u", "take the mark away"),
        (
            "e",
            "export the case: issue, mtr, python .. and a file for it",
        ),
        ("y", "show the path of the case file"),
        ("Esc, q", "back, stop what runs, leave; Ctrl-C too"),
    ];
    let line = |(key, what): &(&str, &str)| PaneLine {
        tone: LineTone::Plain,
        text: format!("  {key:<16}{what}"),
    };
    keys.iter().map(line).collect()
}

impl ListedGroup {
    /// A group of a folder, as of now.
    pub(super) fn of(group: &Group, now: u64) -> Self {
        let printable = |text: &str| crate::model::printable(text).replace('\n', " ");
        let first = group.first_file();
        let engines: Vec<&str> = group.engines().into_iter().collect();
        Self {
            id: group.id.clone(),
            state: group.state,
            anomaly: printable(&first.anomaly),
            engines: printable(&engines.join(",")),
            levels: printable(&first.levels),
            sightings: group.sightings(),
            last: super::super::list::ago_if_known(now, group.last_unix_s()),
            headline: printable(&first.headline),
            path: printable(&first.path.display().to_string()),
        }
    }
}
