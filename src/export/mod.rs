//! Case files for people and tools that do not know Rashomon: a test of the engine's own suite, a
//! script, the text of a report.
//!
//! An export is a file or folder here and a line in [`FORMATS`]. Most of them tell the case as a
//! `scenario`: clients that execute statements one after another, with the answers that were seen and
//! those that are right.

mod case_format;
mod case_sql;
mod client_step;
mod docker;
mod dot;
mod edn;
mod ended;
mod headline;
mod held_back;
mod issue;
mod maintainers;
mod mtr;
mod pgspec;
mod plan;
mod python;
mod scenario;
mod slt;
#[cfg(test)]
mod tests;
mod tidb_go;
mod words;

pub use case_format::{CaseFormat, DoesNotApply, Exported};
pub use case_sql::CASE_FILE;
pub(crate) use scenario::right_by_kind;

use crate::reproducer::CaseFile;

/// Every format, in the order of `--help`.
pub const FORMATS: &[&dyn CaseFormat] = &[
    &case_sql::CaseSql,
    &issue::Issue,
    &mtr::Mtr,
    &pgspec::PgSpec,
    &tidb_go::TidbGo,
    &python::Python,
    &docker::Docker,
    &slt::Slt,
    &edn::Edn,
    &dot::Dot,
];

/// The format of this name.
pub fn format_named(name: &str) -> Option<&'static dyn CaseFormat> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}

/// The names of the formats that this case can be written in.
pub fn applicable(file: &CaseFile) -> Vec<&'static str> {
    let applies = |format: &&&dyn CaseFormat| format.write(file).is_ok();
    let applying = FORMATS.iter().filter(applies);
    applying.map(|format| format.name()).collect()
}
