//! Where pictures of the counterexample go.

use std::io::Write as _;
use std::path::Path;

use super::CheckArguments;
use super::load::is_standard_input;
use crate::cli::exit::{Exit, Failure};
use crate::cli::terminal::printable;

impl CheckArguments {
    /// A picture may replace neither the history nor the other picture.
    pub(super) fn check_pictures(&self) -> Result<(), Failure> {
        // Where it comes from a file this is a link to it.
        let history = match is_standard_input(&self.file) {
            true => Path::new("/dev/stdin"),
            false => &self.file,
        };
        let pictures = [("--dot", &self.dot), ("--svg", &self.svg)];
        let pictures = pictures.map(|(name, path)| path.as_deref().map(|path| (name, path)));
        for (name, path) in pictures.into_iter().flatten() {
            if path.as_os_str() == "-" {
                let message = format!("{name} - : standard output holds the answer; name a file");
                return Err(Failure::usage(message));
            }
            if is_same_file(path, history) {
                let message = format!("{name} {}: that is the history itself", path.display());
                return Err(Failure::usage(message));
            }
            self.overwriting.check(path)?;
        }
        match pictures {
            [Some((_, dot)), Some((_, svg))] if dot == svg || is_same_file(dot, svg) => {
                let message = format!("--dot and --svg both name {}", dot.display());
                Err(Failure::usage(message))
            }
            _ => Ok(()),
        }
    }
}

impl CheckArguments {
    /// Says that no picture was drawn where one was asked for; one of an earlier run may lie there
    /// and be taken for it.
    pub(super) fn tell_undrawn(&self, exit: Exit) {
        let why = match exit {
            Exit::Clean => "nothing is violated",
            Exit::Inconclusive | Exit::Interrupted | Exit::Terminated => "no violation was found",
            Exit::Finding
            | Exit::Usage
            | Exit::Nothing
            | Exit::Environment
            | Exit::Refused
            | Exit::Internal => return,
        };
        let asked = [&self.dot, &self.svg];
        if asked.iter().all(|path| path.is_none()) {
            return;
        }
        let mut text = format!("{why}: no picture was drawn");
        for path in asked.into_iter().flatten().filter(|path| path.is_file()) {
            text.push_str(&format!("; {} is of an earlier run", path.display()));
        }
        // Nothing can be said of a closed standard error.
        let _ = writeln!(std::io::stderr(), "{}", printable(&text));
    }
}

/// Whether two names lead to one file that is there.
fn is_same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}
