//! What an answer rests on: witnesses and counterexamples, how they are made small, and how they
//! are checked independently of the checker that found them.

pub(in crate::checker) mod counterexample;
pub(in crate::checker) mod cycle;
pub mod rederive;
pub(in crate::checker) mod reduce;
pub mod replay;
pub(in crate::checker) mod stale_read;
pub(in crate::checker) mod witness;
