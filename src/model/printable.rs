//! What may be shown of a text that comes from outside.

use std::fmt::Write as _;

/// Text of a server or a file, made safe to print and to draw: control characters (C0, C1, ESC), the
/// characters that turn the direction of writing and the code points that are no characters (Unicode, section
/// 23.7) are shown as escapes. Line feeds stay.
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        let turns_direction = matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}')
            || ('\u{202a}'..='\u{202e}').contains(&c)
            || ('\u{2066}'..='\u{2069}').contains(&c);
        let is_no_character =
            u32::from(c) & 0xfffe == 0xfffe || ('\u{fdd0}'..='\u{fdef}').contains(&c);
        if c == '\n' {
            safe.push(c);
        } else if c == '\t' {
            safe.push_str("    ");
        } else if c.is_control() || turns_direction || is_no_character {
            // Writing to a String cannot fail.
            let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
        } else {
            safe.push(c);
        }
    }
    safe
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_direction_marks_do_not_reach_the_terminal() {
        assert_eq!(
            printable("a\u{1b}[2Jb\u{9b}c\u{202e}d\ne"),
            "a\\u{1b}[2Jb\\u{9b}c\\u{202e}d\ne"
        );
    }

    #[test]
    fn code_points_that_are_no_characters_are_shown_as_escapes() {
        assert_eq!(
            printable("\u{fffe}\u{1ffff}\u{fdd0}\u{fffd}\u{fdcf}"),
            "\\u{fffe}\\u{1ffff}\\u{fdd0}\u{fffd}\u{fdcf}"
        );
    }
}
