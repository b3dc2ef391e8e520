//! Marks: entries of the folder's registry, each for one group.

use std::path::Path;

use serde_json::json;

use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Output;
use crate::cli::terminal::printable;
use crate::cli::value::OutputFormat;
use crate::reproducer::{
    GroupMark, Known, KnownStatus, REGISTRY_FILE, Registry, whole_file, without_marks,
};
use crate::triage::{Group, TriageError};

/// Explains a group: the next run that writes to the folder counts it as known
///
/// Writes an entry to known.toml in the folder, by the signature and with the text of the group, on every
/// engine that has shown it. It explains this group and no other.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  rashomon triage reproducers mark 2fcdb124 --known MDEV-26642 --note 'as in the second comment'
  rashomon triage reproducers mark 2fcdb124 --not-a-bug
  rashomon triage reproducers mark 2fcdb124 --upstream https://jira.mariadb.org/browse/MDEV-26642")]
#[command(group(clap::ArgGroup::new("why").required(true).args(["known", "not_a_bug", "upstream"])))]
pub(super) struct MarkArguments {
    /// The signature, or its first digits
    #[arg(value_name = "SIG", value_parser = super::findings::signature)]
    signature: String,

    /// It is known under this identifier of a tracker
    #[arg(long, value_name = "ID", value_parser = line)]
    known: Option<String>,

    /// It is what the documentation says, or a mistake of ours
    #[arg(long)]
    not_a_bug: bool,

    /// It is reported here
    #[arg(long, value_name = "URL", value_parser = line)]
    upstream: Option<String>,

    /// A remark for readers
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

/// Takes the mark of a group away
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:
  rashomon triage reproducers unmark 2fcdb124")]
pub(super) struct UnmarkArguments {
    /// The signature, or its first digits
    #[arg(value_name = "SIG", value_parser = super::findings::signature)]
    signature: String,
}

/// A line of text that is not empty.
fn line(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || text.contains(char::is_control) {
        return Err("expected a word or a line of text".to_owned());
    }
    Ok(text.to_owned())
}

pub(super) fn run(
    arguments: &MarkArguments,
    folder: &Path,
    format: OutputFormat,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let _lock = super::findings::lock(folder)?;
    let findings = super::findings::read(folder)?;
    let group = super::findings::find(&findings, &arguments.signature)?;
    let mark = mark_of(arguments, group)?;
    let path = folder.join(REGISTRY_FILE);
    let text = registry_text(&path)?.unwrap_or_default();
    let shown = path.display();
    let by_this = |entry: &Known| entry.signature() == Some(group.id.as_str());
    let own = Registry::read_or_empty(&text, &shown.to_string());
    let own = own.map_err(|error| Failure::usage(error.to_string()))?;
    if own.entries.iter().any(by_this) {
        let id = &group.id;
        return Err(Failure::usage(format!(
            "{id} is marked already: `rashomon triage {} unmark {id}` takes the mark away",
            folder.display()
        )));
    }
    let new = mark.added_to(&text, &shown.to_string());
    let new = new.map_err(|error| Failure::usage(error.to_string()))?;
    write(&path, &new)?;
    match format {
        OutputFormat::Json => output.json(&json!({
            "v": 1, "event": "marked", "signature": group.id, "group": mark.group, "known_id": mark.id,
            "file": shown.to_string(),
        }))?,
        OutputFormat::Human => output.line(&format!(
            "{}: {} is known as {} from the next run on",
            printable(&shown.to_string()),
            printable(&mark.group),
            printable(&mark.id)
        ))?,
    }
    Ok(Exit::Clean)
}

fn mark_of(arguments: &MarkArguments, group: &Group) -> Result<GroupMark, Failure> {
    let first = group.first_file();
    let Some(signature) = group.files.iter().find_map(|file| file.signature.as_ref()) else {
        return Err(Failure::usage(format!(
            "{} has no JSON file beside it, and without it the group is not known for sure: let a run find \
             it again, or write the entry by hand",
            first.path.display()
        )));
    };
    let (id, status) = match (&arguments.known, &arguments.upstream) {
        (Some(id), _) | (None, Some(id)) => (id.clone(), KnownStatus::Open),
        (None, None) => (format!("not-a-bug:{}", group.id), KnownStatus::ByDesign),
    };
    Ok(GroupMark {
        id,
        status,
        engines: group.engines().into_iter().map(str::to_owned).collect(),
        url: arguments.upstream.clone(),
        note: arguments.note.clone(),
        example: signature.text(),
        signature: signature.id(),
        group: signature.group(),
    })
}

pub(super) fn undo(
    arguments: &UnmarkArguments,
    folder: &Path,
    format: OutputFormat,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let _lock = super::findings::lock(folder)?;
    let path = folder.join(REGISTRY_FILE);
    let shown = path.display().to_string();
    // A mark may outlive its files.
    let id = match arguments.signature.len() {
        8 => arguments.signature.clone(),
        _ => super::findings::find(&super::findings::read(folder)?, &arguments.signature)?
            .id
            .clone(),
    };
    let none = || Failure::usage(format!("{shown} has no mark of {id}"));
    let text = registry_text(&path)?.ok_or_else(none)?;
    let new = without_marks(&text, &shown, &id);
    let new = new
        .map_err(|error| Failure::usage(error.to_string()))?
        .ok_or_else(none)?;
    write(&path, &new)?;
    match format {
        OutputFormat::Json => {
            output.json(&json!({ "v": 1, "event": "unmarked", "signature": id, "file": shown }))?
        }
        OutputFormat::Human => output.line(&format!(
            "{}: {id} is no longer known from the next run on",
            printable(&shown)
        ))?,
    }
    Ok(Exit::Clean)
}

/// The text of a registry; none where it is not there yet.
fn registry_text(path: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(cause) => {
            let shown = path.display();
            Err(Failure::usage(format!("cannot read {shown}: {cause}")))
        }
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = whole_file::write(path, text.as_bytes());
    written.map_err(|cause| {
        TriageError::Write {
            path: path.to_owned(),
            cause,
        }
        .into()
    })
}
