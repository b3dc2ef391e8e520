//! One statement alone on its view: what it must give, and how that is compared.
//!
//! Shared by the oracles that judge statements one by one. `standing` says which statements a run
//! lets them judge and how strictly, `alone` runs one on its view, `allowed` on every view that
//! documented behaviour allows, `refused` whether a write was refused for another of several reasons, `self_check` asks whether a write's changes agree with its count,
//! `read_again` what no mix explains of a join that may read rows again, `sorted` runs a read whose rows changed after they were sorted,
//! `refused_for_locked` tells a refusal that no older row explains,
//! `parents` brings the rows that those of a view refer to,
//! `moment` names a wrong answer by the rows that explain it, `finding` words what differs, `verdicts` makes the verdict.

mod allowed;
mod alone;
mod finding;
mod looked_again;
mod looked_again_pairs;
mod moment;
mod parents;
mod read_again;
mod refused;
mod refused_for_locked;
mod self_check;
mod sorted;
mod standing;
#[cfg(test)]
pub(super) mod tests;
mod verdicts;

pub(super) use allowed::Allowed;
pub(super) use alone::{Alone, Contents, rows_of, visible};
pub use finding::unstable_prediction;
pub(super) use finding::{Disagreement, unstable_finding};
pub(super) use self_check::{is_miscounted, miscounts, overwritten_unseen, written_over_uncounted};
pub(super) use standing::{blind, standings};
pub(super) use verdicts::StatementVerdicts;
