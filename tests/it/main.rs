//! Tests that run the whole program or need a server. One binary, a module per topic.
//!
//! A test that needs a server asks [`servers`] for it; without one it says loudly that it did not
//! run, and `RASHOMON_REQUIRE_SERVERS=1` turns that into a failure. `scripts/test` starts them.

mod acceptance;
mod against;
mod bisect;
mod calibrate;
mod campaign;
mod check;
mod cli;
mod counters;
mod data;
mod doctor;
mod engine_faults;
mod engine_script;
mod engine_waits;
mod engines;
mod events;
mod execute;
mod exports;
mod faults;
mod flaky;
mod heard;
mod hearing;
mod histories;
mod interruption;
mod locks;
mod minimize;
mod oracle_history;
mod oracles;
mod pgspec;
mod plant;
mod planted;
mod postgres;
mod postgres_cases;
mod postgres_locks;
mod prepared;
mod profiles;
mod program;
mod recovery;
mod registry;
mod replay;
mod report;
mod run_end;
mod run_faults;
mod running;
mod scripted;
mod selftest;
mod serial_run;
mod servers;
mod statement_counters;
mod tables;
mod tidb;
mod triage;
mod watch;
mod workload;
