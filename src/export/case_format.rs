//! What a way to export a case is.

use crate::reproducer::CaseFile;

/// The text of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    pub text: String,
    /// The file that belongs beside it, where there is one: its ending without the dot, and its text.
    pub beside: Option<(&'static str, String)>,
    /// What its user has to know and the text itself does not say, in a sentence.
    pub remark: Option<String>,
}

impl Exported {
    /// An export of one file.
    pub(super) fn of(text: String) -> Self {
        Self {
            text,
            beside: None,
            remark: None,
        }
    }
}

/// Why a case cannot be written in a format, with the remedy where there is one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DoesNotApply(pub(super) String);

/// A way to export a case.
pub trait CaseFormat: Sync {
    /// What `--to` calls it.
    fn name(&self) -> &'static str;

    /// Who reads it, in a line.
    fn about(&self) -> &'static str;

    /// The ending of its file, without the dot; no other format has it.
    fn extension(&self) -> &'static str;

    /// The export of a case. Equal cases give equal texts.
    ///
    /// # Errors
    /// When the case has nothing that this format could show.
    fn write(&self, file: &CaseFile) -> Result<Exported, DoesNotApply>;
}
