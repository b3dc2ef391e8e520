//! How things are printed, and in which colours.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::exit::Failure;
pub(super) use crate::model::printable;
use crate::model::wrapped;

/// A whole number with a comma between thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 wait`, `2 waits`.
pub(super) fn counted(count: u64, what: &str) -> String {
    format!(
        "{} {what}{}",
        grouped(count),
        if count == 1 { "" } else { "s" }
    )
}

/// How many columns the terminal has that this stream is; none where it is none.
pub(super) fn columns_of(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// A line of prose for a terminal of so many columns, which would break it in the middle of a word. As it is where there is
/// none.
pub(super) fn folded(line: &str, columns: Option<usize>) -> String {
    match columns {
        Some(columns) => wrapped(line, columns, "    ").join("\n"),
        None => line.to_owned(),
    }
}

/// The line that is written again and again at the bottom of a terminal; none where standard error
/// is no terminal.
pub(super) fn live_line() -> Result<Option<ProgressBar>, Failure> {
    if !std::io::stderr().is_terminal() {
        return Ok(None);
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
    let style = ProgressStyle::with_template("{spinner} {wide_msg}")
        .map_err(|error| Failure::environment(error.to_string()))?;
    bar.set_style(style.tick_chars("|/-\\ "));
    Ok(Some(bar))
}

/// Several lines that are written again and again at the bottom of a terminal, each cut to its width.
pub(super) struct LiveLines {
    all: MultiProgress,
    lines: Vec<ProgressBar>,
}

impl LiveLines {
    /// None where standard error is no terminal.
    pub(super) fn new() -> Option<Self> {
        let target = ProgressDrawTarget::stderr_with_hz(5);
        std::io::stderr().is_terminal().then(|| Self {
            all: MultiProgress::with_draw_target(target),
            lines: Vec::new(),
        })
    }

    /// Shows these lines in place of the earlier ones.
    pub(super) fn show(&mut self, lines: &[String]) -> Result<(), Failure> {
        while self.lines.len() < lines.len() {
            let style = ProgressStyle::with_template("{wide_msg}");
            let style = style.map_err(|error| Failure::environment(error.to_string()))?;
            let line = self.all.add(ProgressBar::new_spinner());
            line.set_style(style);
            self.lines.push(line);
        }
        for gone in self.lines.drain(lines.len()..) {
            self.all.remove(&gone);
        }
        for (line, text) in self.lines.iter().zip(lines) {
            line.set_message(text.clone());
            line.tick();
        }
        Ok(())
    }

    /// Takes the lines away while something else is written.
    pub(super) fn suspend(&self, write: impl FnOnce()) {
        self.all.suspend(write);
    }

    /// Takes the lines away.
    pub(super) fn clear(&self) {
        // Nothing can be said of a closed standard error.
        let _ = self.all.clear();
    }
}

/// Whether and how to colour one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style {
    coloured: bool,
}

impl Style {
    /// Without colours.
    pub(super) const PLAIN: Self = Self { coloured: false };

    /// Decides for standard output.
    pub(super) fn of_stdout() -> Self {
        Self::decide(
            &|name| std::env::var(name).ok(),
            std::io::stdout().is_terminal(),
        )
    }

    /// Decides for standard error.
    pub(super) fn of_stderr() -> Self {
        Self::decide(
            &|name| std::env::var(name).ok(),
            std::io::stderr().is_terminal(),
        )
    }

    /// `NO_COLOR` (set and not empty) wins, then `CLICOLOR_FORCE` (set and not `0`), then whether
    /// the stream is a terminal that is not `dumb`.
    fn decide(variable: &dyn Fn(&str) -> Option<String>, is_terminal: bool) -> Self {
        let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
        let coloured = if is_set("NO_COLOR") {
            false
        } else if variable("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0")
        {
            true
        } else {
            is_terminal && variable("TERM").is_none_or(|term| term != "dumb")
        };
        Self { coloured }
    }

    /// Whether colours are written.
    pub(super) fn is_coloured(self) -> bool {
        self.coloured
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.coloured {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(super) fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Of errors and violations.
    pub(super) fn red(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// Of success.
    pub(super) fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// Of warnings.
    pub(super) fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_parted() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn no_color_beats_force_and_force_beats_a_pipe() {
        let decide = |pairs: &[(&str, &str)], is_terminal| {
            let variable = |name: &str| {
                pairs
                    .iter()
                    .find(|(n, _)| *n == name)
                    .map(|(_, value)| (*value).to_owned())
            };
            Style::decide(&variable, is_terminal).is_coloured()
        };
        assert!(decide(&[], true));
        assert!(!decide(&[], false));
        assert!(!decide(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], true));
        assert!(decide(&[("NO_COLOR", "")], true));
        assert!(decide(&[("CLICOLOR_FORCE", "1")], false));
        assert!(!decide(&[("CLICOLOR_FORCE", "0")], false));
        assert!(!decide(&[("TERM", "dumb")], true));
    }
}
