//! Rashomon: a differential-testing fuzzer for transactional SQL engines.
//!
//! The modules stand in layer order: each uses the ones above it only. `ARCHITECTURE.md` is the
//! map; `tests/tidy/` holds the code to it.

pub mod graph;
pub mod model;

pub mod dialect;
pub mod grammar;
pub mod history;
pub mod statement;

pub mod checker;
pub mod engine;
pub mod generate;
pub mod interleave;

pub mod execute;
pub mod workload;

pub mod observe;
pub mod oracle;

pub mod minimize;
pub mod reproducer;

pub mod calibrate;
pub mod campaign;
pub mod export;
pub mod replay;

pub mod report;
pub mod selftest;
pub mod triage;

pub mod cli;
