//! A case with its sessions side by side, as lines for a screen.

use super::rows::{LineTone, PaneLine};
use crate::model::printable;
use crate::reproducer::{CaseFile, CaseLine, Tag};

/// How far the lane of each session stands to the right of the one before.
const LANE: usize = 4;

/// The lines of a case: set-up first, each session in a lane of its own, below each statement what was
/// seen, and what should have been where it differs.
pub(super) fn lanes(case: &CaseFile) -> Vec<PaneLine> {
    case.lines.iter().flat_map(of_line).collect()
}

fn of_line(line: &CaseLine) -> Vec<PaneLine> {
    let lane = match line.tag {
        Tag::Init | Tag::End => 0,
        Tag::Session(session) => (session.0 as usize).saturating_sub(1) * LANE,
    };
    let indent = " ".repeat(lane.min(LANE * 8));
    let number = line.number.map_or(String::new(), |id| format!(" {id}"));
    let tone = match line.tag {
        Tag::Init => LineTone::Faint,
        Tag::Session(_) | Tag::End => LineTone::Plain,
    };
    let sql = printable(&line.sql).replace('\n', " ");
    let mut lines = vec![PaneLine {
        tone,
        text: format!("{indent}{}{number}  {sql}", line.tag),
    }];
    let notes = line.notes.iter().map(|note| {
        let is_expected = note.name == "expect";
        let name = match is_expected {
            true => "should be",
            false => note.name.as_str(),
        };
        let text = printable(&note.text).replace('\n', " ");
        PaneLine {
            tone: match is_expected {
                true => LineTone::Wrong,
                false => LineTone::Faint,
            },
            text: format!("{indent}      {name} {text}").trim_end().to_owned(),
        }
    });
    lines.extend(notes);
    lines
}
