//! Counterexamples for people: in words, and as pictures.

pub(in crate::checker) mod dot;
mod links;
pub(in crate::checker) mod svg;
pub(in crate::checker) mod words;
