//! Files of text that the command line names: dialects, registries, passwords, case files.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::exit::Failure;
use crate::history::format::Compression;

/// The text of a file.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    check_plain(path)?;
    std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))
}

/// Refuses a compressed file, which only histories may be. A file that cannot be opened
/// passes: its reader reports it.
pub(super) fn check_plain(path: &Path) -> Result<(), Failure> {
    let mut head = Vec::new();
    let opened = File::open(path).and_then(|file| file.take(4).read_to_end(&mut head));
    match Compression::of(&head).filter(|_| opened.is_ok()) {
        None => Ok(()),
        Some(compression) => {
            let (shown, name) = (path.display(), compression.name());
            Err(Failure::usage(format!(
                "{shown} is compressed by {name}: decompress it first, as with `{name} -dk {shown}`"
            )))
        }
    }
}
