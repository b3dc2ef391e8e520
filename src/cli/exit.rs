//! How the program ends: the table that scripts hold on to, and the errors that lead to it.

use std::process::ExitCode;

use crate::dialect::DialectError;
use crate::engine::EngineError;

/// The exit codes. They are API: see `README.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Nothing was found; not reproduced; confirmed fixed.
    Clean = 0,
    /// A new finding, flaky ones included; reproduced.
    Finding = 1,
    /// The command line or a file that it names is wrong.
    Usage = 2,
    /// Every answer was undecided, or a budget ran out.
    Inconclusive = 3,
    /// Nothing to run.
    Nothing = 4,
    /// Server unreachable, at the end of a run, too; disk full. It comes before [`Self::Finding`].
    Environment = 5,
    /// Refused for safety.
    Refused = 6,
    /// A defect of ours.
    Internal = 70,
    /// Ctrl-C, after a clean flush.
    Interrupted = 130,
    /// SIGTERM, after a clean flush.
    Terminated = 143,
}

impl Exit {
    /// How a command ends that this signal ended.
    pub fn of_signal(signal: usize) -> Self {
        match signal == signal_hook::consts::SIGTERM as usize {
            true => Self::Terminated,
            false => Self::Interrupted,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// Why a command gives up: the message and the exit code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub exit: Exit,
    pub message: String,
}

impl Failure {
    /// The command line or a file that it names is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            message: message.into(),
        }
    }

    /// The server or the disk is in the way.
    pub fn environment(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Environment,
            message: message.into(),
        }
    }

    /// The same, and it says first what it is about.
    pub fn about(self, what: &str) -> Self {
        Self {
            message: format!("{what}: {}", self.message),
            ..self
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let exit = match &error {
            EngineError::Unsafe(_) => Exit::Refused,
            EngineError::Target(_) | EngineError::Dialect(_) => Exit::Usage,
            EngineError::Connect { .. }
            | EngineError::Login { .. }
            | EngineError::Privilege { .. }
            | EngineError::ReadOnly { .. }
            | EngineError::ConnectionLost { .. }
            | EngineError::Hang { .. }
            | EngineError::Rejected { .. }
            | EngineError::Held { .. }
            | EngineError::Setup { .. }
            | EngineError::Restart { .. }
            | EngineError::Resource(_) => Exit::Environment,
        };
        Self {
            exit,
            message: error.to_string(),
        }
    }
}

impl From<DialectError> for Failure {
    fn from(error: DialectError) -> Self {
        Self::usage(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_those_of_the_contract() {
        let codes = [
            (Exit::Clean, 0),
            (Exit::Finding, 1),
            (Exit::Usage, 2),
            (Exit::Inconclusive, 3),
            (Exit::Nothing, 4),
            (Exit::Environment, 5),
            (Exit::Refused, 6),
            (Exit::Internal, 70),
            (Exit::Interrupted, 130),
            (Exit::Terminated, 143),
        ];
        for (exit, code) in codes {
            assert_eq!(exit as u8, code, "{exit:?}");
        }
    }

    #[test]
    fn a_safety_refusal_is_no_environment_error() {
        assert_eq!(
            Failure::from(EngineError::Unsafe("x".to_owned())).exit,
            Exit::Refused
        );
        assert_eq!(
            Failure::from(EngineError::Target("x".to_owned())).exit,
            Exit::Usage
        );
    }
}
