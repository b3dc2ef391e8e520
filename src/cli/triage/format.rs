//! How `triage` prints.

use crate::cli::exit::Failure;
use crate::cli::value::OutputFormat;

/// `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum TriageFormat {
    /// For people; may change.
    Human,
    /// One JSON object a line; the last is the summary.
    Json,
    /// JUnit XML for CI servers: of the list and of `recheck`.
    Junit,
}

impl TriageFormat {
    /// The format of a task that has no test cases to tell.
    pub(super) fn plain(self) -> Result<OutputFormat, Failure> {
        match self {
            Self::Human => Ok(OutputFormat::Human),
            Self::Json => Ok(OutputFormat::Json),
            Self::Junit => Err(Failure::usage(
                "--format junit is for `rashomon triage DIR` and `rashomon triage DIR recheck`",
            )),
        }
    }
}

impl From<OutputFormat> for TriageFormat {
    fn from(format: OutputFormat) -> Self {
        match format {
            OutputFormat::Human => Self::Human,
            OutputFormat::Json => Self::Json,
        }
    }
}
