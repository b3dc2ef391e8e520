//! What may be shown of a text that comes from outside.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Text of a server or a file, made safe to print and to draw: what a reader does not see, or takes for something
/// else, is shown as escapes. Line feeds stay.
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' {
            safe.push(c);
        } else if c == '\t' {
            safe.push_str("    ");
        } else if c.is_control() || is_unseen(c) {
            // Writing to a String cannot fail.
            let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Whether a character leaves no mark of its own: separators of lines and blanks other than the space
/// (categories Zl, Zp and Zs), format characters, those that turn the direction of writing among them (Cf), what
/// is shown as nothing (`Default_Ignorable_Code_Point`), and code points that are no characters (section 23.7).
/// By Unicode 16, and by no table of the compiler: a case file is the same whatever built the program.
fn is_unseen(c: char) -> bool {
    const UNSEEN: &[(char, char)] = &[
        ('\u{a0}', '\u{a0}'),
        ('\u{ad}', '\u{ad}'),
        ('\u{34f}', '\u{34f}'),
        ('\u{600}', '\u{605}'),
        ('\u{61c}', '\u{61c}'),
        ('\u{6dd}', '\u{6dd}'),
        ('\u{70f}', '\u{70f}'),
        ('\u{890}', '\u{891}'),
        ('\u{8e2}', '\u{8e2}'),
        ('\u{115f}', '\u{1160}'),
        ('\u{1680}', '\u{1680}'),
        ('\u{17b4}', '\u{17b5}'),
        ('\u{180b}', '\u{180f}'),
        ('\u{2000}', '\u{200f}'),
        ('\u{2028}', '\u{202f}'),
        ('\u{205f}', '\u{206f}'),
        ('\u{3000}', '\u{3000}'),
        ('\u{3164}', '\u{3164}'),
        ('\u{fdd0}', '\u{fdef}'),
        ('\u{fe00}', '\u{fe0f}'),
        ('\u{feff}', '\u{feff}'),
        ('\u{ffa0}', '\u{ffa0}'),
        ('\u{fff0}', '\u{fffb}'),
        ('\u{110bd}', '\u{110bd}'),
        ('\u{110cd}', '\u{110cd}'),
        ('\u{13430}', '\u{1343f}'),
        ('\u{1bca0}', '\u{1bca3}'),
        ('\u{1d173}', '\u{1d17a}'),
        ('\u{e0000}', '\u{e0fff}'),
    ];
    let is_no_character = u32::from(c) & 0xfffe == 0xfffe;
    is_no_character
        || UNSEEN
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&c))
}

/// A text of at most so many characters, with a sign at its end where something is left out.
pub fn cut_to(text: &str, most: usize, sign: &str) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(sign.chars().count());
    let kept: String = text.chars().take(kept).collect();
    kept + sign
}

/// A text in lines of at most so many columns, broken at blanks. The lines behind the first begin with the indent; a longer
/// word has a line of its own.
pub fn wrapped(text: &str, columns: usize, indent: &str) -> Vec<String> {
    let options = textwrap::Options::new(columns)
        .subsequent_indent(indent)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let lines = textwrap::wrap(text, options).into_iter();
    lines.map(Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_blanks_only() {
        assert_eq!(
            wrapped("SELECT a FROM a_table-with_a_long_name WHERE b", 12, "  "),
            [
                "SELECT a",
                "  FROM",
                "  a_table-with_a_long_name",
                "  WHERE b"
            ]
        );
    }

    #[test]
    fn escape_sequences_and_direction_marks_do_not_reach_the_terminal() {
        assert_eq!(
            printable("a\u{1b}[2Jb\u{9b}c\u{202e}d\ne"),
            "a\\u{1b}[2Jb\\u{9b}c\\u{202e}d\ne"
        );
    }

    #[test]
    fn what_leaves_no_mark_is_shown_as_escapes() {
        assert_eq!(
            printable("a\u{2028}b\u{200b}c\u{feff}d\u{a0}e\u{ad}f\u{3000}g\u{e0041}h"),
            "a\\u{2028}b\\u{200b}c\\u{feff}d\\u{a0}e\\u{ad}f\\u{3000}g\\u{e0041}h"
        );
        let seen = "a b \u{e9} e\u{301} \u{df} \u{4e2d} \u{1f600} \u{915}\u{93e} \u{5e9} \u{661}";
        assert_eq!(printable(seen), seen);
    }

    #[test]
    fn code_points_that_are_no_characters_are_shown_as_escapes() {
        assert_eq!(
            printable("\u{fffe}\u{1ffff}\u{fdd0}\u{fffd}\u{fdcf}"),
            "\\u{fffe}\\u{1ffff}\\u{fdd0}\u{fffd}\u{fdcf}"
        );
    }
}
