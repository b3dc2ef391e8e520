//! What a calibration says of each entry of the dialect file.

use std::fmt;

/// Whether an entry of the file holds on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    Right,
    Wrong,
    /// The engine has no such statement, or its answer tells nothing: the reason.
    DoesNotApply(String),
}

impl Proof {
    /// As reports spell it.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::DoesNotApply(_) => "does-not-apply",
        }
    }
}

/// How often an entry that does not hold is probed before the report says so.
pub const PROBES_OF_A_WRONG_ENTRY: u32 = 3;

/// One entry, and what the server did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalibratedEntry {
    /// The key in the dialect file: `read-modes.repeatable-read.update-source`.
    pub subject: String,
    /// Which of several statements of that kind.
    pub form: String,
    /// What the file says.
    pub claimed: String,
    /// What the server does.
    pub measured: String,
    /// Whether the two agree.
    pub proof: Proof,
    /// How many of [`PROBES_OF_A_WRONG_ENTRY`] probes gave this answer, for a wrong entry; else 0.
    pub hits: u32,
    /// The statements of the probe in the order they were sent, each after its session's name
    /// (`tested`, `other`), for a wrong entry; else empty.
    pub script: Vec<String>,
}

impl CalibratedEntry {
    /// An entry that was probed once.
    pub(super) fn new(subject: String, form: String, claimed: String, proof: Proof) -> Self {
        Self {
            subject,
            form,
            claimed,
            measured: String::new(),
            proof,
            hits: 0,
            script: Vec::new(),
        }
    }

    /// The same, with what the server did.
    pub(super) fn measured(self, measured: impl Into<String>) -> Self {
        Self {
            measured: measured.into(),
            ..self
        }
    }

    /// Why a wrong entry may be the server's fault or the file's, and how to tell: a paragraph.
    pub fn how_to_tell(&self) -> String {
        if self.hits < PROBES_OF_A_WRONG_ENTRY {
            return format!(
                "{} [{}]: the server gave this answer {} of {PROBES_OF_A_WRONG_ENTRY} times. Either \
                 other sessions work in databases of ours, or the server contradicts itself: \
                 calibrate again with nothing else running.",
                self.subject, self.form, self.hits
            );
        }
        format!(
            "{} [{}]: the file says {}, the server does {}. One of the two is wrong. Send the \
             statements below from two clients, and read what the manual of this version says of \
             them. If the manual agrees with the server, correct {} in a copy of the file and give \
             it with --dialect. If it agrees with the file, the server has a bug: report it with \
             these statements.",
            self.subject, self.form, self.claimed, self.measured, self.subject
        )
    }
}

impl fmt::Display for CalibratedEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match &self.proof {
            Proof::Right => "ok",
            Proof::Wrong => "WRONG",
            Proof::DoesNotApply(_) => "n/a",
        };
        write!(f, "{word:<5}  {}  [{}]", self.subject, self.form)?;
        if !self.claimed.is_empty() {
            write!(f, "  file: {}", self.claimed)?;
        }
        if !self.measured.is_empty() {
            write!(f, "  server: {}", self.measured)?;
        }
        if let Proof::DoesNotApply(reason) = &self.proof {
            write!(f, "  ({reason})")?;
        }
        Ok(())
    }
}

/// What a calibration found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CalibrationReport {
    /// In the order in which they were probed.
    pub entries: Vec<CalibratedEntry>,
}

impl CalibrationReport {
    /// The file is right about this server.
    pub fn is_right(&self) -> bool {
        self.wrong().next().is_none()
    }

    /// The entries that do not hold.
    pub fn wrong(&self) -> impl Iterator<Item = &CalibratedEntry> {
        self.entries
            .iter()
            .filter(|entry| entry.proof == Proof::Wrong)
    }

    /// How many entries were proved right, proved wrong, and do not apply.
    pub fn counts(&self) -> (usize, usize, usize) {
        let wrong = self.wrong().count();
        let idle = self
            .entries
            .iter()
            .filter(|entry| matches!(entry.proof, Proof::DoesNotApply(_)))
            .count();
        (self.entries.len() - wrong - idle, wrong, idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(hits: u32) -> CalibratedEntry {
        let subject = "read-modes.read-committed.plain-select".to_owned();
        let entry = CalibratedEntry::new(
            subject,
            "columns".to_owned(),
            "statement-snapshot".to_owned(),
            Proof::Wrong,
        );
        CalibratedEntry {
            hits,
            ..entry.measured("current (during: waits; after: new)")
        }
    }

    #[test]
    fn a_wrong_entry_blames_the_server_or_the_file_and_says_how_to_tell() {
        let text = wrong(3).how_to_tell();
        for part in [
            "the file says statement-snapshot",
            "the server does current",
            "correct read-modes.read-committed.plain-select",
            "--dialect",
            "the server has a bug",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn an_answer_that_does_not_recur_blames_neither() {
        let text = wrong(1).how_to_tell();
        assert!(text.contains("1 of 3 times"), "{text}");
        assert!(!text.contains("--dialect"), "{text}");
    }
}
