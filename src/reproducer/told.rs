//! What the comments of a case file tell of its finding.

use super::CaseFile;
use crate::model::{FindingKind, TransactionCycle};

impl CaseFile {
    /// The cycle of transactions that the headline or the explanation of the finding tells. None
    /// where the finding is about a statement or a lock: there is no cycle then.
    pub fn told_cycle(&self) -> Option<TransactionCycle> {
        let kind = FindingKind::from_slug(self.header.kind.as_deref()?)?;
        if !matches!(kind, FindingKind::NotSerializable | FindingKind::Anomaly(_)) {
            return None;
        }
        let lines = &self.header.comments.last;
        let headlines = lines.iter().map(String::as_str);
        let mut told = headlines.filter_map(|line| TransactionCycle::told(line, &[]));
        told.next().or_else(|| TransactionCycle::told("", lines))
    }
}
