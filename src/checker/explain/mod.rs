//! Counterexamples for people: in words, and as pictures.

pub(in crate::checker) mod dot;
pub(in crate::checker) mod elle;
mod label;
mod links;
mod lost_update;
mod orders;
pub(in crate::checker) mod svg;
pub(in crate::checker) mod words;
