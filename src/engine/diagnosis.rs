//! What an examination of a target found.

use super::error::EngineError;

/// One line of a diagnosis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagnosisLine {
    /// `connection`, `version`, `variable`, `privilege`, `safety`.
    pub topic: &'static str,
    /// It is as it should be.
    pub ok: bool,
    pub text: String,
}

impl DiagnosisLine {
    pub(super) fn new(topic: &'static str, ok: bool, text: impl Into<String>) -> Self {
        Self {
            topic,
            ok,
            text: text.into(),
        }
    }
}

/// What was found. Empty of lines that are not `ok` when the target can be used as it is.
#[derive(Debug)]
pub struct Diagnosis {
    pub lines: Vec<DiagnosisLine>,
    /// Why the server cannot be opened at all.
    pub error: Option<EngineError>,
    /// Whether cases are generated and judged on this engine.
    pub takes_cases: bool,
}

impl Diagnosis {
    /// Everything is as it should be.
    pub fn is_healthy(&self) -> bool {
        self.error.is_none() && self.lines.iter().all(|line| line.ok)
    }
}
