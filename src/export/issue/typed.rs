//! The order in which somebody types the steps: what a client has behind a statement that waits is typed when it goes on.

use std::collections::BTreeMap;

use crate::export::client_step::ClientStep;

/// The steps, each behind the answer of the one before it in its client. Where the file does not say at which step a client
/// goes on, its steps stay where they are.
pub(super) fn in_order_of_typing(steps: Vec<ClientStep>) -> Vec<ClientStep> {
    let goes_on = |place: usize, step: &ClientStep| {
        let client = step.client.unwrap_or_default();
        let later = &steps[place..];
        step.waits && later.iter().any(|other| other.resumes.contains(&client))
    };
    let with_waits: Vec<(ClientStep, bool)> = steps
        .iter()
        .enumerate()
        .map(|(place, step)| (step.clone(), goes_on(place, step)))
        .collect();
    let mut typist = Typist::default();
    for (step, goes_on_later) in with_waits {
        typist.take(step, goes_on_later);
    }
    typist
        .typed
        .extend(typist.held.into_values().flatten().map(|(step, _)| step));
    typist.typed
}

#[derive(Default)]
struct Typist {
    typed: Vec<ClientStep>,
    /// What each client that waits is to execute next, with whether that waits until a later step.
    held: BTreeMap<u32, Vec<(ClientStep, bool)>>,
}

impl Typist {
    fn take(&mut self, step: ClientStep, goes_on_later: bool) {
        let client = step.client.unwrap_or_default();
        if let Some(held) = self.held.get_mut(&client) {
            held.push((step, goes_on_later));
            return;
        }
        if goes_on_later {
            self.held.insert(client, Vec::new());
        }
        let resumed = step.resumes.clone();
        self.typed.push(step);
        for client in resumed {
            for (step, goes_on_later) in self.held.remove(&client).unwrap_or_default() {
                self.take(step, goes_on_later);
            }
        }
    }
}
