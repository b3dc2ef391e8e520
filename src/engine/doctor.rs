//! What can be said of a target before it is used.

use super::diagnosis::{Diagnosis, DiagnosisLine};
use super::error::EngineError;
use super::opening::OpenOptions;
use super::registry::engine_of;
use super::server::require_cases;
use super::target::Target;

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
    Ok(require_cases(&*server).is_ok())
}
