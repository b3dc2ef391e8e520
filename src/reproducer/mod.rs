//! Case files: the only reader and writer, publication on disk, the safety check of a file that
//! came from elsewhere, and the registry of known behaviour.
//!
//! `docs/reproducer-format.md` describes the files. A [`CaseFile`] holds what a person may edit; a
//! `TestCase` is made of it for one dialect by [`CaseFile::test_case`].

mod answered;
mod case;
#[cfg(test)]
mod case_tests;
mod cell;
mod error;
mod evidence;
mod file;
#[cfg(test)]
mod for_tests;
mod head;
mod header;
mod known;
mod levels;
mod marks;
mod note;
mod publish;
mod reader;
pub mod safety;
mod scanner;
mod sidecar;
mod tag;
#[cfg(test)]
mod tests;
mod told;
pub mod whole_file;
mod writer;

pub use case::CannotRun;
pub use cell::Cell;
pub use error::FormatError;
pub use evidence::{CaseEvidence, StatementSpan, load_evidence};
pub use file::{CaseFile, CaseLine};
#[cfg(test)]
pub(crate) use for_tests::case as case_of;
pub use head::{CaseHead, load_head};
pub use header::{FORMAT_VERSION, Header, HeaderComments, Isolation, Reproduced, SessionSetup};
pub use known::{Known, KnownStatus, Match, REGISTRY_FILE, Registry};
pub use marks::{GroupMark, without_marks};
pub use note::{Expectation, Note, is_disputed};
pub use publish::{PublishError, file_stem, publish, sweep};
pub use reader::{FILE_BYTES_MAX, load, read, read_from};
pub use sidecar::{Sidecar, sidecar};
pub use tag::Tag;
pub use writer::{quoted, write};
