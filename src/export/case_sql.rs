//! Our own case files, `docs/reproducer-format.md`.

use super::case_format::{CaseFormat, DoesNotApply, Exported};
use crate::reproducer::{self, CaseFile};

/// What `--to` calls our own case files.
pub const CASE_FILE: &str = "sql";

pub(super) struct CaseSql;

impl CaseFormat for CaseSql {
    fn name(&self) -> &'static str {
        CASE_FILE
    }

    fn about(&self) -> &'static str {
        "the case file in its canonical form, for people and for rashomon replay"
    }

    fn extension(&self) -> &'static str {
        "sql"
    }

    fn write(&self, file: &CaseFile) -> Result<Exported, DoesNotApply> {
        Ok(Exported::of(reproducer::write(file)))
    }
}
