//! What a history is resolved to before it is judged: the version that each read saw, the order of
//! the versions, and the dependencies that follow from both.

pub(in crate::checker) mod arcs;
pub(in crate::checker) mod dependencies;
pub(in crate::checker) mod resolve;
pub(in crate::checker) mod starts_and_commits;
mod value_index;
pub(in crate::checker) mod version;
pub(in crate::checker) mod versions;
pub(in crate::checker) mod vertex;
