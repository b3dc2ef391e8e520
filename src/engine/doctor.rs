//! What can be said of a target before it is used.

use super::{EngineError, OpenOptions, Target, engine_of};

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

/// Examines a target. Changes nothing on the server.
pub fn doctor(target: &str, options: &OpenOptions) -> Diagnosis {
    let mut lines = Vec::new();
    let (takes_cases, error) = match examine(target, options, &mut lines) {
        Ok(takes_cases) => (takes_cases, None),
        Err(error) => {
            lines.push(DiagnosisLine::new("connection", false, error.to_string()));
            (false, Some(error))
        }
    };
    Diagnosis {
        lines,
        error,
        takes_cases,
    }
}

/// Adds its lines, and says whether the engine takes cases.
fn examine(
    target: &str,
    options: &OpenOptions,
    lines: &mut Vec<DiagnosisLine>,
) -> Result<bool, EngineError> {
    let target: Target = target.parse()?;
    // A shared server is a line of the diagnosis, not the end of it.
    let tolerant = OpenOptions {
        allow_shared_server: true,
        ..options.clone()
    };
    let server = engine_of(&target)?.open(&target, &tolerant)?;
    let identity = server.identity();
    lines.push(DiagnosisLine::new("connection", true, target.to_string()));
    lines.push(DiagnosisLine::new(
        "version",
        true,
        format!("{} {}", identity.engine, identity.version_text),
    ));
    for (name, value) in &identity.variables {
        let text = format!("{name} = {value}");
        lines.push(DiagnosisLine::new("variable", true, text));
    }
    lines.extend(server.examine()?);
    Ok(super::require_cases(&*server).is_ok())
}
