//! The house rules that no compiler knows. Data files are parsed in `tests/it/data.rs`.
//!
//! One file for each family of rules. A rule is a function over sources, so that each has a test
//! of its own that plants a violation in a made-up source beside a neighbour that is allowed. Every
//! rule collects all its complaints and fails once, each complaint with its file and line.
//!
//! Rules about code read tokens (`token`), what these declare and name (`outline`), and where a
//! path leads (`resolve`); rules about prose read lines.

mod circles;
mod documents;
mod forbidden;
mod foreign;
mod invariants;
mod known;
mod layers;
mod lengths;
mod members;
mod outline;
mod resolve;
mod token;
mod tree;
mod type_names;
mod words;
