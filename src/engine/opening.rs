//! How servers are reached: the trait of an engine, and what its servers are opened with.

use std::collections::BTreeMap;
use std::time::Duration;

use super::error::EngineError;
use super::server::Server;
use super::target::{AddressKind, Password, Target};
use crate::dialect::{Dialect, ServerVersion, builtin, parse_for};

/// How long an unanswered statement may run before it is given up.
pub const STATEMENT_DEADLINE: Duration = Duration::from_secs(20);

/// How a server is to be opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Go on although the server holds databases that are not ours.
    pub allow_shared_server: bool,
    /// Used when the URL has none; without either, the environment's `RASHOMON_PASSWORD`.
    pub password: Option<Password>,
    /// How long a statement may stay unanswered.
    pub deadline: Duration,
    /// A dialect file instead of the built-in one: its name, for messages, and its text.
    pub dialect: Option<(String, String)>,
    /// The dialect is taken to name no registered behaviour: what one would explain is a finding.
    pub nothing_is_known: bool,
    /// Written into the marker of every database that is created.
    pub run_id: String,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            allow_shared_server: false,
            password: None,
            deadline: STATEMENT_DEADLINE,
            dialect: None,
            nothing_is_known: false,
            run_id: format!("pid{}", std::process::id()),
        }
    }
}

impl OpenOptions {
    /// The dialect for a server of this engine: the given file or the built-in one, as its version
    /// and variables make it.
    pub(super) fn dialect_for(
        &self,
        engine: &str,
        version: &ServerVersion,
        variables: &BTreeMap<String, String>,
    ) -> Result<Dialect, EngineError> {
        let text = builtin(engine)
            .ok_or_else(|| EngineError::Target(format!("no dialect for {engine}")))?;
        let file = format!("dialects/{engine}.toml");
        self.dialect_from(engine, (&file, text), version, variables)
    }

    /// The same where the file (name and text) that comes with the program is known.
    pub(super) fn dialect_from(
        &self,
        engine: &str,
        builtin: (&str, &str),
        version: &ServerVersion,
        variables: &BTreeMap<String, String>,
    ) -> Result<Dialect, EngineError> {
        let (name, text) = match &self.dialect {
            Some((name, text)) => (name.as_str(), text.as_str()),
            None => builtin,
        };
        let dialect = parse_for(name, text, version, variables)?;
        if dialect.engine != engine {
            return Err(EngineError::Target(format!(
                "{name} is the dialect of {}, and the server is {engine}",
                dialect.engine
            )));
        }
        Ok(match self.nothing_is_known {
            true => dialect.without_known(),
            false => dialect,
        })
    }
}

/// One engine: how its servers are reached.
pub trait Engine: Sync {
    /// As URLs and dialect files name it.
    fn name(&self) -> &'static str;

    /// What a target URL of this engine names.
    fn address(&self) -> AddressKind;

    /// Connects, identifies and checks the server.
    ///
    /// # Errors
    /// When it is not reachable, refuses the login, lacks a privilege, or is not safe to use.
    fn open(&self, target: &Target, options: &OpenOptions) -> Result<Box<dyn Server>, EngineError>;
}
