//! What events are to their own transaction.

use crate::history::{Kind, NamedEvent};

/// What an event is to its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventRole {
    /// It reads what others left.
    External,
    /// It reads after this event of the transaction wrote the key.
    Internal(usize),
    /// It writes what others may read.
    Final,
    /// It writes what the transaction itself overwrites.
    Overwritten,
}

/// What each event is to its transaction. A few events are compared with each other; of many, those
/// of one key are brought together first.
pub(super) fn tell_roles(events: &[NamedEvent], roles: &mut Vec<EventRole>) {
    const FEW: usize = 24;
    roles.clear();
    if events.len() <= FEW {
        roles.extend((0..events.len()).map(|at| {
            let key = events[at].key;
            let writes = |event: &NamedEvent| event.key == key && event.kind == Kind::Write;
            match events[at].kind {
                Kind::Read => match events[..at].iter().rposition(writes) {
                    Some(own) => EventRole::Internal(own),
                    None => EventRole::External,
                },
                Kind::Write if events[at + 1..].iter().any(writes) => EventRole::Overwritten,
                Kind::Write => EventRole::Final,
            }
        }));
        return;
    }
    roles.resize(events.len(), EventRole::External);
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_unstable_by_key(|at| (events[*at].key, *at));
    let mut own: Option<usize> = None;
    for at in order {
        let before = own.filter(|own| events[*own].key == events[at].key);
        match (events[at].kind, before) {
            (Kind::Read, Some(own)) => roles[at] = EventRole::Internal(own),
            (Kind::Read, None) => {}
            (Kind::Write, before) => {
                if let Some(before) = before {
                    roles[before] = EventRole::Overwritten;
                }
                roles[at] = EventRole::Final;
                own = Some(at);
            }
        }
    }
}
