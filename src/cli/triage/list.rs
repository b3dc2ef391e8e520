//! The list: one line a group.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::format::TriageFormat;
use crate::campaign::unix_seconds;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Output;
use crate::cli::quantity::ago;
use crate::cli::terminal::{Style, columns_of, counted, printable};
use crate::model::cut_to;
use crate::report;
use crate::triage::{Group, GroupState, TriageFolder};

/// The longest headline of a line, in characters, where the terminal does not say: `show` has it in full.
const HEADLINE_MAX: usize = 110;

/// A headline that has fewer columns than this beside the others stands below its line.
const HEADLINE_MIN: usize = 50;

/// Stands between two columns.
const GAP: &str = "  ";

/// Stands at the end of a headline that is cut.
const LEFT_OUT: &str = "..";

/// The place of LEVELS among the columns.
const LEVELS: usize = 4;

/// The longest text of levels on a terminal: of one level that is claimed to be another.
const LEVELS_MAX: usize = "REPEATABLE READ claimed SERIALIZABLE".len();

/// The columns that are left out one after the other where a terminal is too narrow: levels, first sighting, statements,
/// engine. `show` has them all.
const GIVE_WAY: [usize; 4] = [LEVELS, 6, 8, 3];

/// Stands before a headline on a line of its own.
const INDENT: &str = "       ";

const COLUMNS: [&str; 11] = [
    "STATE",
    "SIGNATURE",
    "ANOMALY",
    "ENGINE",
    "LEVELS",
    "SEEN",
    "FIRST",
    "LAST",
    "STMTS",
    "K/N",
    "WHAT IS WRONG",
];

pub(super) fn run(
    folder: &TriageFolder,
    format: TriageFormat,
    output: &mut Output,
) -> Result<Exit, Failure> {
    match format {
        TriageFormat::Junit => {
            let xml = report::junit(folder, None);
            let xml = xml.map_err(|error| Failure::environment(error.to_string()))?;
            output.line(xml.trim_end())?;
        }
        TriageFormat::Json => {
            for group in &folder.groups {
                output.json(&group_json(group))?;
            }
            output.json(&summary(folder))?;
        }
        TriageFormat::Human => {
            let now = unix_seconds();
            let rows: Vec<[String; 11]> = folder.groups.iter().map(|g| row(g, now)).collect();
            if !rows.is_empty() {
                let columns = columns_of(std::io::stdout());
                let headings = COLUMNS.map(str::to_owned);
                let mut widths = widths(&headings, &rows);
                if columns.is_some() {
                    widths[LEVELS] = widths[LEVELS].min(LEVELS_MAX);
                }
                output.line(&fitted(&headings, &widths, None, columns))?;
                for (group, row) in folder.groups.iter().zip(&rows) {
                    output.line(&fitted(row, &widths, Some(group.state), columns))?;
                }
            }
            for sentence in &folder.left_out {
                output.line(&format!("left out: {}", printable(sentence)))?;
            }
            output.line(&totals(folder))?;
        }
    }
    Ok(Exit::Clean)
}

/// How long ago, where it is known when.
pub(super) fn ago_if_known(now: u64, then: Option<u64>) -> String {
    then.map_or_else(|| "-".to_owned(), |then| ago(now, then))
}

fn row(group: &Group, now: u64) -> [String; 11] {
    let first = group.first_file();
    let engines: Vec<&str> = group.engines().into_iter().collect();
    let mut headline = first.headline.clone();
    // Identifiers are of any length: they stand where a line may be of any length, too.
    if let (Some(known), GroupState::Known) = (&group.explanation, group.state) {
        headline = format!("{}: {headline}", known.id);
    }
    let seen = match group.sightings() {
        0 => "-".to_owned(),
        count => count.to_string(),
    };
    [
        group.state.to_string(),
        group.id.clone(),
        first.anomaly.clone(),
        engines.join(","),
        first.levels.clone(),
        seen,
        ago_if_known(now, group.first_unix_s()),
        ago_if_known(now, group.last_unix_s()),
        first.statements.to_string(),
        first.reproduced.map_or("-".to_owned(), |r| r.to_string()),
        headline,
    ]
    .map(|cell| printable(&cell).replace('\n', " "))
}

fn widths(headings: &[String; 11], rows: &[[String; 11]]) -> [usize; 11] {
    let mut widths = headings.each_ref().map(|heading| heading.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    // Nothing stands behind the headline.
    widths[10] = 0;
    widths
}

/// A line of the list on a terminal of so many columns: its headline is cut, or stands below it, with the levels where
/// their column has no room and the headline does not tell them.
fn fitted(
    cells: &[String; 11],
    widths: &[usize; 11],
    state: Option<GroupState>,
    columns: Option<usize>,
) -> String {
    let mut cells = cells.clone();
    let all: Vec<usize> = (0..cells.len()).collect();
    let Some(columns) = columns else {
        cells[10] = cut_to(&cells[10], HEADLINE_MAX + LEFT_OUT.len(), LEFT_OUT);
        return line(&cells, &all, widths, state);
    };
    let levels = cells[LEVELS].clone();
    cells[LEVELS] = cut_to(&levels, widths[LEVELS], LEFT_OUT);
    let others: usize = widths[..10].iter().map(|width| width + GAP.len()).sum();
    let room = columns.saturating_sub(others);
    if room >= HEADLINE_MIN {
        cells[10] = cut_to(&cells[10], room, LEFT_OUT);
        return line(&cells, &all, widths, state);
    }
    let kept = kept(widths, columns);
    let rest = line(&cells, &kept, widths, state);
    // The heading of the last column would stand above nothing.
    if state.is_none() {
        return rest;
    }
    let mut headline = std::mem::take(&mut cells[10]);
    if !kept.contains(&LEVELS) && !headline.contains(&levels) {
        headline = format!("{levels}: {headline}");
    }
    let most = columns.saturating_sub(INDENT.len());
    format!("{rest}\n{INDENT}{}", cut_to(&headline, most, LEFT_OUT))
}

/// The columns before the headline that a terminal of so many columns has room for.
fn kept(widths: &[usize; 11], columns: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..10).collect();
    let width = |kept: &[usize]| -> usize {
        let cells: usize = kept.iter().map(|at| widths[*at]).sum();
        cells + GAP.len() * kept.len().saturating_sub(1)
    };
    for gone in GIVE_WAY {
        if width(&kept) <= columns {
            break;
        }
        kept.retain(|at| *at != gone);
    }
    kept
}

/// The cells of these columns.
fn line(
    cells: &[String; 11],
    kept: &[usize],
    widths: &[usize; 11],
    state: Option<GroupState>,
) -> String {
    let style = Style::of_stdout();
    let texts = kept.iter().map(|&at| {
        let (cell, width) = (&cells[at], widths[at]);
        let is_number = (5..=9).contains(&at);
        let padded = match is_number {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        };
        match state {
            Some(state) if at == 0 => painted(style, state, &padded),
            None => style.faint(&padded),
            Some(_) => padded,
        }
    });
    let texts: Vec<String> = texts.collect();
    texts.join(GAP).trim_end().to_owned()
}

/// A text in the colour of a state.
pub(super) fn painted(style: Style, state: GroupState, text: &str) -> String {
    match state {
        GroupState::New | GroupState::Regression => style.red(text),
        GroupState::Flaky => style.yellow(text),
        GroupState::Fixed => style.green(text),
        GroupState::Known => style.faint(text),
    }
}

fn counts(folder: &TriageFolder) -> BTreeMap<&'static str, u64> {
    let mut counts: BTreeMap<&str, u64> = GroupState::ALL.iter().map(|s| (s.slug(), 0)).collect();
    for group in &folder.groups {
        *counts.entry(group.state.slug()).or_default() += 1;
    }
    counts
}

fn totals(folder: &TriageFolder) -> String {
    let counts = counts(folder);
    let states: Vec<String> = GroupState::ALL
        .iter()
        .map(|state| format!("{} {state}", counts[state.slug()]))
        .collect();
    let groups = counted(folder.groups.len() as u64, "group");
    format!(
        "{groups} in {}: {}",
        printable(&folder.path.display().to_string()),
        states.join(", ")
    )
}

/// The line of one group.
pub(super) fn group_json(group: &Group) -> Json {
    let first = group.first_file();
    let known = group.explanation.as_ref();
    json!({
        "v": 1,
        "event": "group",
        "signature": group.id,
        "group": group.text(),
        "state": group.state.slug(),
        "anomaly": first.anomaly,
        "levels": first.levels,
        "engines": group.engines(),
        "sightings": group.sightings(),
        "first_unix_s": group.first_unix_s(),
        "last_unix_s": group.last_unix_s(),
        "statements": first.statements,
        "hits": first.reproduced.map(|r| r.hits),
        "runs": first.reproduced.map(|r| r.runs),
        "known_id": known.map(|known| &known.id),
        "url": known.and_then(|known| known.url.as_ref()),
        "note": known.and_then(|known| known.note.as_ref()),
        "headline": first.headline,
        "files": group.files.iter().map(|file| file.path.display().to_string()).collect::<Vec<_>>(),
    })
}

fn summary(folder: &TriageFolder) -> Json {
    json!({
        "v": 1,
        "event": "summary",
        "folder": folder.path.display().to_string(),
        "groups": folder.groups.len(),
        "states": counts(folder),
        "left_out": folder.left_out,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells() -> ([String; 11], [usize; 11]) {
        let mut cells = COLUMNS.map(str::to_owned);
        cells[10] = "T2.1 (update) at REPEATABLE READ: affected differ: got affected 0; ".repeat(3);
        let widths = widths(&cells, &[]);
        (cells, widths)
    }

    #[test]
    fn a_line_has_the_width_of_the_terminal_or_two_lines() {
        let (cells, widths) = cells();
        let state = Some(GroupState::New);
        let heading = fitted(&cells, &widths, None, Some(80));
        assert_eq!(heading.lines().count(), 1, "{heading}");
        assert!(!heading.contains("T2.1"), "{heading}");
        for columns in [80, 100, 120, 132, 200, 400] {
            let text = fitted(&cells, &widths, state, Some(columns));
            let longest = text.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(columns), "{columns}: {text}");
            assert!(text.contains("T2.1 (update) at"), "{columns}: {text}");
        }
        assert_eq!(fitted(&cells, &widths, state, Some(80)).lines().count(), 2);
        assert_eq!(fitted(&cells, &widths, state, Some(200)).lines().count(), 1);
        let piped = fitted(&cells, &widths, state, None);
        assert_eq!(piped.lines().count(), 1);
        assert!(piped.ends_with(".."), "{piped}");
    }

    /// A run with a claim, two engines, and a group of a case whose sessions run at several levels.
    #[test]
    fn long_levels_push_no_other_column_over_the_edge() {
        let (mut cells, _) = cells();
        cells[2] = "non-repeatable-read".to_owned();
        cells[3] = "mariadb,mysql".to_owned();
        cells[LEVELS] = "READ COMMITTED claimed SERIALIZABLE, SERIALIZABLE".to_owned();
        let headings = COLUMNS.map(str::to_owned);
        let mut widths = widths(&headings, std::slice::from_ref(&cells));
        widths[LEVELS] = LEVELS_MAX;
        let state = Some(GroupState::New);
        for columns in [80, 120, 200] {
            let text = fitted(&cells, &widths, state, Some(columns));
            let longest = text.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(columns), "{columns}: {text}");
            let heading = fitted(&headings, &widths, None, Some(columns));
            assert_eq!(heading.contains("LEVELS"), columns > 120, "{heading}");
            assert_eq!(heading.contains("FIRST"), columns > 80, "{heading}");
        }
        let narrow = fitted(&cells, &widths, state, Some(80));
        let told = "READ COMMITTED claimed SERIALIZABLE, SERIALIZABLE: T2.1 (update)";
        assert!(narrow.contains(told), "{narrow}");
        cells[10] = format!("T2.1 at {}: it should have waited", cells[LEVELS]);
        let narrow = fitted(&cells, &widths, state, Some(80));
        assert!(narrow.contains("\n       T2.1 at"), "{narrow}");
    }
}
