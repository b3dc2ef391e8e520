//! The class of anomalies that a counterexample belongs to.

use std::collections::BTreeSet;

use crate::checker::{self, Answer, Budget, Counterexample};
use crate::history::{Event, History, Key, Kind, Txn};
use crate::model::{Anomaly, AnomalyClass, ConsistencyModel};

/// What a counterexample is, as a reader would name it.
///
/// The checker is not told which write came last. Where a transaction read the initial value of a key and
/// wrote the key, it infers that every other write came later; that one came between the two is the other
/// way to see it, and needs no circle of writes and reads.
///
/// A read that was right when it was made, and does not fit to what its transaction read later, is not stale.
pub(super) fn class(
    history: &History,
    model: ConsistencyModel,
    found: &Counterexample,
    budget: Budget,
) -> AnomalyClass {
    let ends = found.edges.iter().flat_map(|edge| [edge.from, edge.to]);
    let mut named: BTreeSet<Txn> = ends.chain(found.core.iter().copied()).collect();
    named.retain(|transaction| !transaction.is_initial());
    let does = |transaction: Txn, kind: Kind, key: Key| {
        let mut events = history.events(transaction);
        let is_initial = |event: &Event| event.value == history.initial(key);
        events.any(|event| {
            let wanted = event.kind == kind && event.key == key;
            wanted && (kind == Kind::Write || is_initial(&event))
        })
    };
    let replaces_unseen = |&one: &Txn| {
        history.all_keys().any(|key| {
            let mut others = named.iter().filter(|other| **other != one);
            does(one, Kind::Read, key)
                && does(one, Kind::Write, key)
                && others.any(|other| does(*other, Kind::Write, key))
        })
    };
    let circular = matches!(
        found.anomaly,
        Anomaly::CircularInformationFlow | Anomaly::DirtyWrite
    );
    if circular && named.iter().any(replaces_unseen) {
        return AnomalyClass::LostUpdate;
    }
    let violates =
        |part: &History| matches!(checker::check(part, model, budget).1, Answer::Violated(_));
    let class = AnomalyClass::from(found.anomaly);
    let is_skew =
        class == AnomalyClass::StaleRead && !checker::has_stale_read(history, found, violates);
    if is_skew {
        AnomalyClass::ReadSkew
    } else {
        class
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::format;

    fn told(lines: &str) -> AnomalyClass {
        let text = format!("#! rashomon history 1\ninitial 0\n{lines}");
        let ours = format::by_name("rashomon").expect("our format");
        let history = (ours.read)(&mut text.as_bytes()).expect("a history");
        let model = ConsistencyModel::Serializable;
        match checker::check(&history, model, Budget::default()).1 {
            Answer::Violated(found) => class(&history, model, &found, Budget::default()),
            answer @ (Answer::Satisfied(_) | Answer::Unknown(_)) => panic!("{answer:?}"),
        }
    }

    #[test]
    fn a_read_is_stale_only_if_it_was_wrong_when_it_was_made() {
        use AnomalyClass::{ReadSkew, StaleRead};
        let writers = "committed s2 w(x,1)\ncommitted s2 w(y,1)\n";
        for (reader, expected) in [
            ("committed s1 r(y,1) r(x,0)\n", StaleRead),
            // What its session had read, or written, before.
            ("committed s1 r(y,1)\ncommitted s1 r(x,0)\n", StaleRead),
            ("committed s2 r(x,0)\n", StaleRead),
            // Right until it read what came later.
            ("committed s1 r(x,0) r(y,1)\n", ReadSkew),
            ("committed s1 r(x,0) w(z,1) r(y,1)\n", ReadSkew),
        ] {
            assert_eq!(told(&format!("{writers}{reader}")), expected, "{reader}");
            // The order of writes as the table tells it, and without: three wrote the key.
            let more = "committed s3 w(x,2)\n";
            assert_eq!(
                told(&format!("{writers}{more}{reader}")),
                expected,
                "{reader}"
            );
        }
    }
}
