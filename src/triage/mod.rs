//! What runs have left in a folder, told by groups: findings that are one bug.
//!
//! The folder is the only memory: case files with their JSON, the checkpoints of its runs (`runs/`), its own
//! registry (`known.toml`) and what rechecks saw (`rechecks.json`). Reading it changes nothing.

mod error;
mod folder;
mod group;
mod merge;
mod paths;
mod rechecks;
mod run;

pub use error::TriageError;
pub use folder::TriageFolder;
pub use group::{Explanation, Group, GroupState, SeenInRun};
pub use merge::{Merged, merge};
pub use paths::require_folder;
pub use rechecks::{Recheck, RecheckResult, Rechecks};
pub use run::{RunInFolder, RunStatus, runs_of};
