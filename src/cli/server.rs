//! The options by which a command reaches its server.

use std::path::{Path, PathBuf};

use rustix::rand::GetRandomFlags;

use super::exit::Failure;
use super::{shell, text_file};
use crate::dialect::MODES;
use crate::engine::{OpenOptions, Password};

/// Options of every command that opens a server.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Server")]
pub(super) struct ServerArguments {
    /// Work on a server that holds other databases, too (only ours are touched)
    #[arg(long)]
    allow_shared_server: bool,

    /// Read the password from the first line of this file (better than in the URL;
    /// RASHOMON_PASSWORD works too)
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,

    /// Use this dialect file instead of the built-in one, or the built-in one of this name:
    /// `tidb-optimistic` (a file of that name is `./tidb-optimistic`)
    #[arg(long, value_name = "FILE")]
    dialect: Option<PathBuf>,
}

impl ServerArguments {
    /// The first of these options that was given, for a command that takes none of them.
    pub(super) fn given(&self) -> Option<&'static str> {
        if self.allow_shared_server {
            return Some("--allow-shared-server");
        }
        let file = self.password_file.as_ref().map(|_| "--password-file");
        file.or(self.dialect.as_ref().map(|_| "--dialect"))
    }

    /// The dialect file, as it was given.
    pub(super) fn dialect(&self) -> Option<&Path> {
        self.dialect.as_deref()
    }

    /// Takes the dialect file of an earlier run where none is given now.
    pub(super) fn or_dialect(&mut self, dialect: Option<&Path>) {
        if self.dialect.is_none() {
            self.dialect = dialect.map(Path::to_owned);
        }
    }

    /// The options that let a command reach the same server, each with a space before it. The
    /// dialect file is not among them: a checkpoint keeps it.
    pub(super) fn repeated(&self) -> String {
        let mut text = String::new();
        if self.allow_shared_server {
            text.push_str(" --allow-shared-server");
        }
        if let Some(file) = &self.password_file {
            let file = file.display().to_string();
            text.push_str(&format!(" --password-file {}", shell::word(&file)));
        }
        text
    }

    /// What the engine needs to know.
    pub(super) fn open_options(&self, run_id: &str) -> Result<OpenOptions, Failure> {
        let password = match &self.password_file {
            Some(path) => {
                text_file::check_plain(path)?;
                Some(Password::from_file(path)?)
            }
            None => None,
        };
        let dialect = match &self.dialect {
            Some(path) => Some(dialect_text(path)?),
            None => None,
        };
        Ok(OpenOptions {
            allow_shared_server: self.allow_shared_server,
            password,
            dialect,
            run_id: run_id.to_owned(),
            ..OpenOptions::default()
        })
    }
}

/// Name and text of the dialect file that `--dialect` asks for.
fn dialect_text(path: &Path) -> Result<(String, String), Failure> {
    let builtin = MODES.iter().find(|(name, _)| path == Path::new(name));
    match builtin {
        Some((name, text)) => Ok((format!("dialects/{name}.toml"), (*text).to_owned())),
        None => Ok((path.display().to_string(), text_file::read(path)?)),
    }
}

/// Draws a number from the operating system: by a call, because an empty root has no `/dev`.
pub(super) fn random_u64() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    // So few bytes come all at once (getrandom(2)).
    rustix::rand::getrandom(&mut bytes, GetRandomFlags::empty())
        .map_err(|error| Failure::environment(format!("cannot draw a random number: {error}")))?;
    Ok(u64::from_le_bytes(bytes))
}
