//! Words of commands that are printed to be typed again.

use std::borrow::Cow;

/// A word as a POSIX shell reads it back: quoted where it has letters that mean something to one.
pub(super) fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("'{}'", text.replace('\'', r"'\''"))),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_meant() {
        for text in [
            "plain-1.sql",
            "a b",
            "it's",
            "$HOME",
            "",
            "a;b&c?d*",
            "mysql://u@h:1?socket=/x",
        ] {
            let script = format!("printf %s {}", word(text));
            let printed = Command::new("sh").args(["-c", &script]).output();
            assert_eq!(printed.expect("a shell").stdout, text.as_bytes(), "{text}");
        }
        assert_eq!(word("found/runs/1c0ffee2"), "found/runs/1c0ffee2");
    }
}
