//! How the connections of one server are made.

use std::time::Duration;

use super::opening::OpenOptions;
use super::target::{Password, Target};

/// What every connection to a server needs to know.
#[derive(Clone)]
pub(super) struct Access {
    /// As URLs name the engine.
    pub(super) engine: &'static str,
    pub(super) target: Target,
    /// Of the URL, else of the options, else of the environment.
    pub(super) password: Option<Password>,
    /// How long a statement may stay unanswered.
    pub(super) deadline: Duration,
}

impl Access {
    pub(super) fn new(engine: &'static str, target: &Target, options: &OpenOptions) -> Self {
        let given = target.password().or(options.password.as_ref());
        Self {
            engine,
            target: target.clone(),
            password: given.cloned().or_else(Password::from_environment),
            deadline: options.deadline,
        }
    }
}
