//! Where DDL beside transactions stands in an export: after the transactions that have used its table.
//!
//! A run holds such a statement back, whatever its place in the case (`execute/scheduler.rs`): a server has it wait
//! for their ends, and whoever executes the steps one after the other would wait with it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem::take;

use super::client_step::ClientStep;
use crate::dialect::{Dialect, RejectionEnd};
use crate::model::StatementKind;
use crate::reproducer::Expectation;

/// The steps in the order in which a run sends them.
pub(super) fn in_order_of_a_run(steps: Vec<ClientStep>, dialect: &Dialect) -> Vec<ClientStep> {
    let is_ddl = |step: &ClientStep| step.effect.kind == StatementKind::PhysicalDdl;
    if !steps.iter().any(is_ddl) {
        return steps;
    }
    let mut clients: BTreeMap<Option<u32>, ClientProgress> = BTreeMap::new();
    let mut ordered = Vec::with_capacity(steps.len());
    for step in steps {
        let client = step.client;
        clients.entry(client).or_default().held.push_back(step);
        while let Some(step) = next(&mut clients) {
            executed(&mut clients, &step, dialect);
            ordered.push(step);
        }
    }
    // Only transactions without an end are in their way: they end with their clients.
    ordered.extend(clients.into_values().flat_map(|client| client.held));
    ordered
}

/// What a client is at, as far as others wait for it.
#[derive(Default)]
struct ClientProgress {
    is_open: bool,
    /// It waits for a lock: what it is to execute next is sent when it goes on.
    waits: bool,
    /// The tables that its transaction, or the statement that waits, has used.
    tables: BTreeSet<String>,
    /// Its steps that are not in the order yet.
    held: VecDeque<ClientStep>,
    /// Those that stand in the order and are sent when it goes on.
    deferred: VecDeque<ClientStep>,
}

/// Takes the next step that nothing holds back.
fn next(clients: &mut BTreeMap<Option<u32>, ClientProgress>) -> Option<ClientStep> {
    let is_free = |(name, client): &(&Option<u32>, &ClientProgress)| {
        client.held.front().is_some_and(|step| {
            let change = step.effect.storage_change.as_ref();
            let Some(change) = change.filter(|change| change.waits_for_users) else {
                return true;
            };
            let table = change.table.to_ascii_lowercase();
            let mut others = clients.iter().filter(|(other, _)| other != name);
            !others.any(|(_, other)| other.tables.contains(&table))
        })
    };
    let client = *clients.iter().find(is_free)?.0;
    clients.get_mut(&client)?.held.pop_front()
}

/// Notes what a step that has its place comes to, now or when its client goes on.
fn executed(
    clients: &mut BTreeMap<Option<u32>, ClientProgress>,
    step: &ClientStep,
    dialect: &Dialect,
) {
    let client = clients.entry(step.client).or_default();
    if client.waits {
        client.deferred.push_back(step.clone());
        return;
    }
    let kind = step.effect.kind;
    let is_ended = matches!(step.seen, Some(Expectation::Error(class))
        if dialect.ends_transaction(class) == RejectionEnd::Always);
    client.is_open = (client.is_open || kind.is_begin()) && !step.effect.is_last_end() && !is_ended;
    let used = step.effect.uses.iter();
    client
        .tables
        .extend(used.map(|used| used.table.to_ascii_lowercase()));
    client.waits = step.waits;
    if !client.waits && !client.is_open {
        client.tables.clear();
    }
    for resumed in &step.resumes {
        let Some(client) = clients.get_mut(&Some(*resumed)) else {
            continue;
        };
        client.waits = false;
        if !client.is_open {
            client.tables.clear();
        }
        for step in take(&mut client.deferred) {
            executed(clients, &step, dialect);
        }
    }
}
