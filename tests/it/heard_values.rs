//! Other values than a write should put in or return, planted in a real server, are heard in generated cases.

use std::io::{self, Write};

use rashomon::dialect::Capability;
use rashomon::generate::GenerateOptions;
use rashomon::model::IsolationLevel;
use rashomon::observe::Learner;

use crate::heard::first_finding;
use crate::plant::Fault;
use crate::postgres_cases::server;
use crate::servers::{Needs, url};

/// Has a fault planted at the levels at which writes of other sessions change what is put in.
fn is_heard(test: &str, needs: Needs, fault: Fault) {
    let Some(url) = url(test, needs) else { return };
    for level in [
        IsolationLevel::ReadCommitted,
        IsolationLevel::RepeatableRead,
    ] {
        let shape = GenerateOptions::default();
        let found = first_finding(&url, fault, level, Learner::Observer, shape);
        assert!(found.is_some(), "{needs:?}: {fault} at {level}: not heard");
    }
}

#[test]
fn defaults_that_become_null_are_heard() {
    let test = "defaults_that_become_null_are_heard";
    is_heard(test, Needs::MariaDb, Fault::DefaultBecomesNull);
}

#[test]
fn rows_returned_as_they_were_are_heard() {
    let test = "rows_returned_as_they_were_are_heard";
    is_heard(test, Needs::Postgres, Fault::ReturningGivesOld);
}

#[test]
fn merges_that_lie_are_heard() {
    let test = "merges_that_lie_are_heard";
    let Some(server) = server(test) else { return };
    if !server.dialect().supports(Capability::Merge) {
        // Before PostgreSQL 17 a MERGE does not say what it did, and none is drawn.
        let _ = writeln!(io::stderr(), "{test}: NOT RUN: it needs PostgreSQL 17");
        return;
    }
    is_heard(test, Needs::Postgres, Fault::MergeLies);
}
