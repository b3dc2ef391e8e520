//! `rashomon completions`: a script for the shell.

use std::io::Write;

use clap_complete::Shell;

use super::exit::{Exit, Failure};

/// Prints the completion script of a shell
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Example:\n  rashomon completions bash > ~/.local/share/bash-completion/completions/rashomon"
)]
pub(super) struct CompletionsArguments {
    /// bash, elvish, fish, powershell or zsh
    shell: Shell,
}

pub(super) fn run(
    arguments: &CompletionsArguments,
    command: &mut clap::Command,
) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, command, "rashomon", &mut script);
    // A pipe that was closed early is the reader's choice.
    let _ = std::io::stdout().write_all(&script);
    Ok(Exit::Clean)
}
