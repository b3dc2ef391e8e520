//! Lines of any length as rows of a screen.

use ratatui::text::Span;

/// What a line of an opened group or of a command's output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineTone {
    Plain,
    Bold,
    Faint,
    /// What should not be so.
    Wrong,
}

/// A line of text in the lower part of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PaneLine {
    pub(super) tone: LineTone,
    pub(super) text: String,
}

/// How far the further rows of a line stand to the right of its first.
const HANGING: usize = 2;

/// How much the list or the pane shows at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct ViewPage {
    pub(super) rows: usize,
    pub(super) columns: usize,
}

impl ViewPage {
    /// The first row of the last page, of so many rows.
    pub(super) fn last_of(self, rows: usize) -> usize {
        rows.saturating_sub(self.rows)
    }
}

/// The lines in rows of at most so many columns, broken at blanks where there are some.
pub(super) fn rows(lines: &[PaneLine], columns: usize) -> Vec<PaneLine> {
    let broken = lines.iter().map(|line| (line.tone, broken(line, columns)));
    let rows =
        broken.flat_map(|(tone, rows)| rows.into_iter().map(move |text| PaneLine { tone, text }));
    rows.collect()
}

fn broken(line: &PaneLine, columns: usize) -> Vec<String> {
    let text = line.text.as_str();
    let blanks = text.chars().take_while(|c| *c == ' ').count();
    let indent = " ".repeat((blanks + HANGING).min(columns / 2));
    let mut rows = Vec::new();
    let mut row = String::new();
    for word in text.split_inclusive(' ') {
        if !row.trim().is_empty() && width(&row) + width(word.trim_end()) > columns {
            rows.push(std::mem::replace(&mut row, indent.clone()));
        }
        // A word that is longer than a row is cut.
        for letter in word.chars() {
            if letter != ' ' && width(&row) + width(letter.encode_utf8(&mut [0; 4])) > columns {
                rows.push(std::mem::replace(&mut row, indent.clone()));
            }
            row.push(letter);
        }
    }
    rows.push(row);
    rows.iter().map(|row| row.trim_end().to_owned()).collect()
}

fn width(text: &str) -> usize {
    Span::from(text).width()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken_at(text: &str, columns: usize) -> Vec<String> {
        let line = PaneLine {
            tone: LineTone::Plain,
            text: text.to_owned(),
        };
        let rows = rows(&[line], columns);
        rows.into_iter().map(|row| row.text).collect()
    }

    #[test]
    fn a_long_line_is_broken_at_blanks_and_hangs_below_its_first_row() {
        assert_eq!(
            broken_at("  seen 1 time by a run", 12),
            ["  seen 1", "    time by", "    a run"]
        );
        assert_eq!(broken_at("", 12), [""]);
        assert_eq!(broken_at("short", 12), ["short"]);
        assert_eq!(broken_at("abcdefgh ij", 5), ["abcde", "  fgh", "  ij"]);
    }

    #[test]
    fn no_row_is_wider_than_the_screen_and_no_letter_is_lost() {
        let text = "    got (4, '\u{4e2d}\u{6587}', 'a text of many words and averylongwordwithoutblanks')";
        for columns in 1..60 {
            let rows = broken_at(text, columns);
            // A letter of two columns fits no screen of one.
            assert!(
                columns < 6 || rows.iter().all(|row| width(row) <= columns),
                "{columns}: {rows:?}"
            );
            let letters = |text: &str| text.replace(' ', "");
            assert_eq!(letters(&rows.concat()), letters(text), "{columns}");
        }
    }
}
