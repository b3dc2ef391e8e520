//! What runs have left in a folder, for people who were not there, as a page of HTML in one file, and for CI
//! servers, as JUnit XML.
//!
//! [`details`] reads the cases of a folder's groups; [`page`] and [`junit`] are pure. Everything that comes
//! from outside (statements, answers, messages of a server, names of files, notes of marks) is escaped where it
//! is put into the page, at compile time by the templates' macro, and control characters are made visible in
//! the page as a whole.

mod chart;
mod cycle;
mod detail;
mod explained;
mod group;
mod junit;
mod lane_table;
mod lanes;
mod list;
mod page;
mod runs;
#[cfg(test)]
mod tests;
mod time;
mod visible;

pub use detail::{GroupDetail, ReportExport, details};
pub use junit::{junit, junit_of_no_run};
pub use page::page;
