//! What a way to write a case is.

use crate::reproducer::CaseFile;

/// A way to write a case.
pub trait CaseFormat: Sync {
    /// What options and messages call it.
    fn name(&self) -> &'static str;

    /// Who reads it, in a line.
    fn about(&self) -> &'static str;

    /// The ending of its files, without the dot; no other format has it.
    fn extension(&self) -> &'static str;

    /// The text of a case.
    fn write(&self, file: &CaseFile) -> String;
}
