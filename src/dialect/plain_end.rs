//! The statements that end a transaction and begin nothing.

use super::Spelling;
use crate::model::StatementKind;

impl Spelling {
    /// COMMIT, or the ROLLBACK for an end of another kind.
    pub fn plain_end(&self, kind: StatementKind) -> &str {
        match kind == StatementKind::Commit {
            true => &self.commit,
            false => &self.rollback,
        }
    }
}
