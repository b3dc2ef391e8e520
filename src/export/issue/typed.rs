//! The order in which somebody types the steps: what a client has behind a statement that waits is typed when it goes on.

use std::collections::BTreeMap;

use crate::export::client_step::ClientStep;

/// The steps, each behind the answer of the one before it in its client. Where the file does not say at which step a client
/// goes on, its steps stay where they are.
pub(super) fn in_order_of_typing(steps: Vec<ClientStep>) -> Vec<ClientStep> {
    let mut typist = Typist::default();
    for (place, step) in steps.iter().enumerate() {
        let resumed = step.resumes.iter().map(|client| (*client, place));
        typist.goes_on_last.extend(resumed);
    }
    for (place, step) in steps.into_iter().enumerate() {
        typist.take(place, step);
    }
    let held = typist.held.into_values().flatten();
    typist.typed.extend(held.map(|(_, step)| step));
    typist.typed
}

#[derive(Default)]
struct Typist {
    /// The place of the last step at which each client goes on.
    goes_on_last: BTreeMap<u32, usize>,
    typed: Vec<ClientStep>,
    /// What each client that waits is to execute next, with its place in the file.
    held: BTreeMap<u32, Vec<(usize, ClientStep)>>,
}

impl Typist {
    fn take(&mut self, place: usize, step: ClientStep) {
        let client = step.client.unwrap_or_default();
        if let Some(held) = self.held.get_mut(&client) {
            held.push((place, step));
            return;
        }
        let goes_on = self.goes_on_last.get(&client);
        if step.waits && goes_on.is_some_and(|last| *last >= place) {
            self.held.insert(client, Vec::new());
        }
        let resumed = step.resumes.clone();
        self.typed.push(step);
        for client in resumed {
            for (place, step) in self.held.remove(&client).unwrap_or_default() {
                self.take(place, step);
            }
        }
    }
}
