//! What makes a database ours: its name and the marker inside it.
//!
//! A database is dropped only when both agree. The marker says which run made it, so that
//! `clean` can tell what dead runs left from what a live one uses.

use super::cell::{number_of, text_of};
use super::error::EngineError;
use crate::model::Row;

/// The table that every database of ours carries.
pub const MARKER_TABLE: &str = "rashomon_marker";

/// What every name of ours begins with.
const PREFIX: &str = "rashomon_";

/// The longest part after the prefix.
const SUFFIX_LENGTH_MAX: usize = 48;

/// The row of the marker table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The run that made the database.
    pub run_id: String,
    /// The machine the run was on.
    pub host: String,
    /// The run's process on that machine.
    pub pid: u32,
    /// When the database was made, as the server's clock had it.
    pub created: String,
}

/// A database with a name of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Its name.
    pub database: String,
    /// None when the marker table is missing or empty: then it is not ours to drop.
    pub marker: Option<Marker>,
}

impl Marker {
    /// The marker of this process.
    pub(super) fn of_this_process(run_id: &str) -> Self {
        Self {
            run_id: run_id.to_owned(),
            host: host_name(),
            pid: std::process::id(),
            created: String::new(),
        }
    }

    /// The row of a marker table: run, host, process, time. None where it is no such row.
    pub(super) fn of_row(row: &Row) -> Option<Self> {
        let [run_id, host, pid, created] = row.as_slice() else {
            return None;
        };
        Some(Self {
            run_id: text_of(run_id)?,
            host: text_of(host)?,
            pid: u32::try_from(number_of(pid)?).ok()?,
            created: text_of(created)?,
        })
    }

    /// Whether the run that made the database is over: its process is gone from this machine.
    /// None when it ran elsewhere, where we cannot look.
    pub fn run_is_over(&self) -> Option<bool> {
        if self.host != host_name() {
            return None;
        }
        let pid = i32::try_from(self.pid)
            .ok()
            .and_then(rustix::process::Pid::from_raw)?;
        // Signal 0 asks whether the process exists; without the right to signal it, it does.
        Some(rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
    }

    /// Whether a database of this marker may give way to a new one of this run.
    pub(super) fn gives_way_to(&self, run_id: &str) -> bool {
        let own =
            self.run_id == run_id && self.pid == std::process::id() && self.host == host_name();
        own || self.run_is_over() == Some(true)
    }
}

fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// Checks that a name is one of ours: `rashomon_` and 1 to 48 letters, digits or underscores.
///
/// # Errors
/// [`EngineError::Unsafe`] when it is not.
pub fn check_database_name(name: &str) -> Result<(), EngineError> {
    if is_ours(name) {
        Ok(())
    } else {
        Err(EngineError::Unsafe(format!(
            "{name:?} is no database name of ours: {PREFIX} and 1 to {SUFFIX_LENGTH_MAX} letters, \
             digits or underscores"
        )))
    }
}

/// Whether a database has a name of ours.
pub(super) fn is_ours(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|rest| {
        (1..=SUFFIX_LENGTH_MAX).contains(&rest.len())
            && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_names_pass() {
        for name in [
            "rashomon_a",
            "rashomon_run7_0",
            &format!("rashomon_{}", "x".repeat(48)),
        ] {
            assert!(check_database_name(name).is_ok(), "{name}");
        }
        for name in [
            "",
            "rashomon",
            "rashomon_",
            "prod",
            "xrashomon_a",
            "rashomon_a`b",
            "rashomon_a b",
            "rashomon_../x",
            "rashomon_caf\u{e9}",
            &format!("rashomon_{}", "x".repeat(49)),
        ] {
            assert!(check_database_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_run_is_over_when_its_process_is_gone_from_this_machine() {
        let mut marker = Marker::of_this_process("r1");
        assert_eq!(marker.run_is_over(), Some(false));
        assert!(marker.gives_way_to("r1"));
        assert!(!marker.gives_way_to("r2"));
        let mut child = std::process::Command::new("true").spawn().expect("spawn");
        marker.pid = child.id();
        child.wait().expect("wait");
        assert_eq!(marker.run_is_over(), Some(true));
        assert!(marker.gives_way_to("r2"));
        marker.host = "elsewhere".to_owned();
        assert_eq!(marker.run_is_over(), None);
        assert!(!marker.gives_way_to("r2"));
    }
}
