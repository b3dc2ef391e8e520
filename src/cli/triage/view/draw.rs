//! Draws the terminal view of `triage`.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState, Wrap};

use super::rows::{LineTone, PaneLine, ViewPage, rows};
use super::state::{ListedGroup, TriageView};
use crate::triage::GroupState;

/// Lines that are not the list's or the pane's: title, two of the headline, message, keys.
const AROUND: u16 = 5;

/// How much of the list or the pane a screen of this size shows.
pub(super) fn page(size: Rect) -> ViewPage {
    ViewPage {
        rows: usize::from(size.height.saturating_sub(AROUND)).max(1),
        columns: usize::from(size.width).max(1),
    }
}

/// Whether and how to colour the view.
#[derive(Clone, Copy, Debug)]
pub(super) struct ViewStyle {
    pub(super) is_coloured: bool,
}

impl ViewStyle {
    fn colour(self, colour: Color) -> Style {
        match self.is_coloured {
            true => Style::new().fg(colour),
            false => Style::new(),
        }
    }

    fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    fn of_state(self, state: GroupState) -> Style {
        match state {
            GroupState::New | GroupState::Regression => self.colour(Color::Red),
            GroupState::Flaky => self.colour(Color::Yellow),
            GroupState::Fixed => self.colour(Color::Green),
            GroupState::Known => self.faint(),
        }
    }

    fn of_line(self, tone: LineTone) -> Style {
        match tone {
            LineTone::Plain => Style::new(),
            LineTone::Bold => Style::new().add_modifier(Modifier::BOLD),
            LineTone::Faint => self.faint(),
            LineTone::Wrong => self.colour(Color::Red).add_modifier(Modifier::BOLD),
        }
    }
}

/// Draws the whole screen.
pub(super) fn draw(frame: &mut Frame<'_>, view: &TriageView, style: ViewStyle) {
    let [title, middle, headline, message, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(2),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(
        Line::from(title_of(view)).style(style.of_line(LineTone::Bold)),
        title,
    );
    match &view.pane {
        Some(lines) => pane(frame, lines, view.scrolled, middle, style),
        None => list(frame, view, middle, style),
    }
    let chosen = view.chosen().map_or("", |group| group.headline.as_str());
    let words = Paragraph::new(chosen).wrap(Wrap { trim: true });
    frame.render_widget(words, headline);
    last_lines(frame, view, message, keys, style);
}

fn title_of(view: &TriageView) -> String {
    let listed = view.listed().len();
    let of = match view.only {
        None => String::new(),
        Some(state) => format!(" {state}"),
    };
    let sought = match view.search.is_empty() {
        true => String::new(),
        false => format!(" with {:?}", view.search),
    };
    let place = match listed {
        0 => 0,
        _ => view.chosen + 1,
    };
    format!(
        "group {place} of {listed}{of}{sought}, {} in all",
        view.groups.len()
    )
}

fn list(frame: &mut Frame<'_>, view: &TriageView, area: Rect, style: ViewStyle) {
    let listed = view.listed();
    let rows = listed.iter().map(|group| row(group, style));
    let headings = [
        "STATE",
        "SIGNATURE",
        "ANOMALY",
        "ENGINE",
        "SEEN",
        "LAST",
        "WHAT IS WRONG",
    ];
    let width = |texts: &dyn Fn(&ListedGroup) -> usize, least: usize, most: usize| {
        let longest = listed.iter().map(|group| texts(group)).max().unwrap_or(0);
        Constraint::Length(u16::try_from(longest.clamp(least, most)).unwrap_or(u16::MAX))
    };
    let widths = [
        Constraint::Length(10),
        Constraint::Length(9),
        width(&|group| group.anomaly.chars().count(), 7, 20),
        width(&|group| group.engines.chars().count(), 6, 13),
        Constraint::Length(5),
        Constraint::Length(5),
        Constraint::Fill(1),
    ];
    let table = Table::new(rows, widths)
        .header(Row::new(headings).style(style.faint()))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::new().with_selected((!listed.is_empty()).then_some(view.chosen));
    frame.render_stateful_widget(table, area, &mut state);
}

fn row<'g>(group: &'g ListedGroup, style: ViewStyle) -> Row<'g> {
    let seen = match group.sightings {
        0 => "-".to_owned(),
        count => count.to_string(),
    };
    Row::new([
        Cell::from(group.state.slug()).style(style.of_state(group.state)),
        Cell::from(group.id.as_str()),
        Cell::from(group.anomaly.as_str()),
        Cell::from(group.engines.as_str()),
        Cell::from(seen),
        Cell::from(group.last.as_str()),
        Cell::from(group.headline.as_str()),
    ])
}

fn pane(frame: &mut Frame<'_>, lines: &[PaneLine], from: usize, area: Rect, style: ViewStyle) {
    let page = ViewPage {
        rows: usize::from(area.height),
        columns: usize::from(area.width),
    };
    let rows = rows(lines, page.columns);
    // The screen may have grown since the last key.
    let from = from.min(page.last_of(rows.len()));
    let shown = rows.into_iter().skip(from).take(page.rows);
    let text: Vec<Line<'_>> = shown
        .map(|line| Line::from(line.text).style(style.of_line(line.tone)))
        .collect();
    frame.render_widget(Paragraph::new(text), area);
}

fn last_lines(
    frame: &mut Frame<'_>,
    view: &TriageView,
    message: Rect,
    keys: Rect,
    style: ViewStyle,
) {
    if let Some((question, answer)) = &view.asked {
        let asked = Span::from(question.text()).style(style.of_line(LineTone::Bold));
        frame.render_widget(
            Line::from(vec![asked, Span::from(answer.as_str())]),
            message,
        );
        let behind = question.text().chars().count() + Span::from(answer.as_str()).width();
        let column = u16::try_from(behind).unwrap_or(u16::MAX);
        let column = column.min(message.width.saturating_sub(1));
        frame.set_cursor_position((message.x + column, message.y));
    } else {
        frame.render_widget(Line::from(view.told.as_str()), message);
    }
    let told = match (&view.asked, view.is_busy, &view.pane) {
        (Some(_), _, _) => "Enter takes it, Esc leaves it",
        (None, true, _) => "Esc stops it",
        (None, false, Some(_)) => "Esc back  r replay  m mark  u unmark  e export  y path  ? keys",
        (None, false, None) => {
            "Enter open / search s state r replay m mark u unmark e export ? keys q leave"
        }
    };
    frame.render_widget(Line::from(told).style(style.faint()), keys);
}
