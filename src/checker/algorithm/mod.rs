//! The checkers, one file or folder each.

pub mod aion;
pub(in crate::checker) mod brute_force;
pub(in crate::checker) mod chronos;
pub(in crate::checker) mod mtc;
pub(in crate::checker) mod polysi;
pub(in crate::checker) mod search;
pub(in crate::checker) mod weak;
