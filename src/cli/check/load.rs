//! How a history is read: from a file, a folder of logs, or standard input.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::bounded;
use super::limits::{Limit, Watched};
use super::waiting::Waiting;
use crate::checker::Budget;
use crate::cli::exit::Failure;
use crate::history::{History, HistoryError, format};

/// Whether a name stands for standard input.
pub(super) fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Why there is no history.
pub(super) enum Unread {
    Failure(Failure),
    Limit(Limit),
}

impl From<Failure> for Unread {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// How much of a file lies ready, in bytes.
const BUFFER_BYTES: usize = 1 << 20;

/// Where a history is, and in which format.
pub(super) struct HistorySource {
    pub(super) file: PathBuf,
    /// As `--input` has it.
    pub(super) input: String,
}

/// Reads a history as long as the limits allow it.
pub(super) fn load(
    place: HistorySource,
    budget: Budget,
    waiting: &Arc<Waiting>,
) -> Result<History, Unread> {
    let shown = Arc::clone(waiting);
    // A pipe may give nothing for ever, and a folder of logs looks at no limit.
    let loaded = bounded::within(budget, move || read(&place, budget, &shown))?;
    loaded.unwrap_or_else(|| Err(Unread::Limit(Limit::that_was_reached(budget))))
}

fn read(place: &HistorySource, budget: Budget, waiting: &Waiting) -> Result<History, Unread> {
    let path: &Path = &place.file;
    if path.is_dir() && !is_standard_input(path) {
        return format::read_folder(path).map_err(|error| unread(path, &error));
    }
    let (file, size) = open(path)?;
    let watched = Watched::new(file, budget, |read| waiting.reads(read, size));
    let stream = BufReader::with_capacity(BUFFER_BYTES, watched);
    let plain = format::decompressed(stream).map_err(|error| unread(path, &error.into()))?;
    // A few compressed bytes may be gigabytes of a history: the limits hold for these, too.
    let plain = Watched::new(plain, budget, |_| {});
    let mut stream = BufReader::with_capacity(BUFFER_BYTES, plain);
    let read = match place.input.as_str() {
        "auto" => {
            format::detect(stream).and_then(|(format, mut stream)| (format.read)(&mut stream))
        }
        name => {
            let format = format::by_name(name).ok_or_else(|| {
                let names = format_names();
                Failure::usage(format!("unknown format {name:?}: auto, {names}"))
            })?;
            (format.read)(&mut stream)
        }
    };
    read.map_err(|error| unread(path, &error))
}

/// A file and its size in bytes; standard input, whose size is not known, has the size 0.
fn open(path: &Path) -> Result<(Box<dyn Read>, u64), Failure> {
    if is_standard_input(path) {
        return Ok((Box::new(std::io::stdin()), 0));
    }
    let wrong = |error| Failure::usage(format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(wrong)?;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    Ok((Box::new(file), size))
}

fn unread(path: &Path, error: &HistoryError) -> Unread {
    let path = path.display();
    match error {
        HistoryError::Read(cause) => match Limit::behind(cause) {
            Some(limit) => Unread::Limit(limit),
            None => Failure::environment(format!("{path}: {error}: {cause}")).into(),
        },
        HistoryError::UnknownFormat(_) => Failure::usage(format!(
            "{path}: {error}; --input NAME says which one it is: {}",
            format_names()
        ))
        .into(),
        HistoryError::IllFormed { .. }
        | HistoryError::TooLarge(_)
        | HistoryError::CannotHold { .. } => Failure::usage(format!("{path}: {error}")).into(),
    }
}

fn format_names() -> String {
    let names: Vec<&str> = format::FORMATS.iter().map(|format| format.name).collect();
    names.join(", ")
}
