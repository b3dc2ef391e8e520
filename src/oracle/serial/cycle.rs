//! Why transactions have no serial order, told as a cycle between them.
//!
//! First by facts: the rows that each transaction was shown and replaced (item dependencies). Where
//! those make no cycle and a stronger level was claimed than run, by what the statements ranged over at
//! the level that ran (predicate dependencies). Else, for two transactions, by refuting both orders.
//!
//! An order is refuted by a statement of the later transaction that did not see what the earlier one
//! wrote (Adya's anti-dependency, rw), by a statement of the earlier one that saw what the later one
//! wrote (wr), or by the final state alone (ww). Either way the later one came first.

use std::collections::BTreeSet;

use super::super::compare::place_text;
use super::super::isolation::{self, ItemAnomaly, ItemEdgeKind, ItemGraph, JudgedBy};
use super::search::{SearchEnd, SerialOrderSearch};
use crate::engine::EngineError;
use crate::execute::SerialRun;
use crate::model::{AnomalyClass, Difference, TestCase, TransactionCycle, TransactionId};
use crate::observe::{Learner, learn};
use crate::oracle::Evidence;

/// One dependency of the cycle.
struct CycleDependency {
    /// Comes first.
    from: TransactionId,
    kind: ItemEdgeKind,
    /// `rw(t0)`.
    label: String,
    reason: String,
}

/// Why a run has no serial order.
#[derive(Default)]
pub(super) struct Cycle {
    /// `cycle: T1 -rw(t0 row 3)-> T2 -ww(t0 row 3)-> T1`, then the reason of each dependency; empty where no
    /// cycle is known.
    pub(super) lines: Vec<String>,
    /// The anomaly that the cycle is, where that is known.
    pub(super) class: Option<AnomalyClass>,
}

/// The cycle of a search that found no order.
pub(super) fn explain(
    search: &SerialOrderSearch<'_>,
    serial: &mut dyn SerialRun,
) -> Result<Cycle, EngineError> {
    let evidence = search.evidence;
    match by_items(evidence).or_else(|| by_ranges(evidence)) {
        Some(ItemAnomaly {
            shape,
            lines,
            class,
            ..
        }) => {
            let cycle = format!("cycle: {shape}");
            Ok(Cycle {
                lines: [cycle].into_iter().chain(lines).collect(),
                class: Some(class),
            })
        }
        None if search.transactions.len() == 2 => by_refutation(search, serial),
        None => by_two_of_several(search, serial),
    }
}

/// The cycle that the rows themselves show.
fn by_items(evidence: &Evidence) -> Option<ItemAnomaly> {
    let queries = isolation::item_queries(evidence);
    let graph = ItemGraph::of(evidence, &queries, &JudgedBy::AsSerializable);
    isolation::cycle(&graph)
}

/// The cycle of what the statements ranged over, where the engine is taken to have kept the level that
/// it ran, though not the one that was claimed.
fn by_ranges(evidence: &Evidence) -> Option<ItemAnomaly> {
    let case = &evidence.case;
    case.claim.filter(|_| !evidence.initial.is_empty())?;
    let as_run = TestCase {
        claim: None,
        ..case.clone()
    };
    let account = learn(
        &as_run,
        &evidence.execution,
        &evidence.timeline,
        &evidence.initial,
        &evidence.dialect,
        Learner::Observer,
    );
    let as_run = Evidence {
        account,
        ..evidence.clone()
    };
    let mut queries = isolation::item_queries(&as_run);
    queries.extend(isolation::ranges(&as_run));
    let graph = ItemGraph::of(&as_run, &queries, &JudgedBy::AsSerializable);
    isolation::cycle(&graph)
}

/// The cycle between two transactions: `cycle: T1 -rw(t0)-> T2 -ww(t0)-> T1`.
fn by_refutation(
    search: &SerialOrderSearch<'_>,
    serial: &mut dyn SerialRun,
) -> Result<Cycle, EngineError> {
    let dependencies = both_refuted(search, serial, [0, 1], &[])?;
    Ok(dependencies.map_or(Cycle::default(), |found| cycle(search, found)))
}

/// The cycle between two of several transactions, whose answers no order explains wherever the others stand and whatever
/// those were answered. None where each two have an order: then what refutes one may be what a third one wrote.
///
/// One that only reads, and only shows what others left, is no part of an anomaly: where two that write contradict
/// what was read behind them or the tables at the end, the cycle is between those.
fn by_two_of_several(
    search: &SerialOrderSearch<'_>,
    serial: &mut dyn SerialRun,
) -> Result<Cycle, EngineError> {
    let count = search.transactions.len();
    let pairs = || (0..count).flat_map(|one| (one + 1..count).map(move |other| [one, other]));
    let writes = |at: &usize| search.has_written(*at);
    for pair in pairs() {
        let answers = search.answers_of(pair);
        let Some(found) = without_order(&answers, serial, pair, &[])? else {
            continue;
        };
        let shows_what_was_left = found.iter().all(|d| d.kind == ItemEdgeKind::Read);
        if !shows_what_was_left || pair.iter().all(writes) {
            return Ok(cycle_of_two(search, pair, found));
        }
        // A third one that wrote between them would be missed in the refutation.
        let are_next = |[one, other]: &[usize; 2]| !(one + 1..*other).any(|at| writes(&at));
        for writers in pairs().filter(|pair| pair.iter().all(writes) && are_next(pair)) {
            // Those who write behind them are run as well, for what the readers saw may be theirs.
            let behind: Vec<usize> = (writers[1] + 1..count).collect();
            let readers: Vec<usize> = behind.iter().copied().filter(|at| !writes(at)).collect();
            let witnessed = search.witnessed(writers, &readers, readers.len() == behind.len());
            if let Some(found) = without_order(&witnessed, serial, writers, &behind)? {
                return Ok(cycle_of_two(search, writers, found));
            }
        }
        return Ok(cycle_of_two(search, pair, found));
    }
    Ok(Cycle::default())
}

/// The dependencies of two transactions for which `of_two`, a search of what they were answered, finds no order among all.
fn without_order(
    of_two: &SerialOrderSearch<'_>,
    serial: &mut dyn SerialRun,
    pair: [usize; 2],
    behind: &[usize],
) -> Result<Option<Vec<CycleDependency>>, EngineError> {
    let Some(dependencies) = both_refuted(of_two, serial, pair, behind)? else {
        return Ok(None);
    };
    serial.reset()?;
    let end = of_two.run(serial)?;
    Ok(matches!(end, SearchEnd::None { .. }).then_some(dependencies))
}

/// The cycle of two among others, and that the others change nothing about it.
fn cycle_of_two(
    search: &SerialOrderSearch<'_>,
    pair: [usize; 2],
    dependencies: Vec<CycleDependency>,
) -> Cycle {
    let [one, other] = pair.map(|at| search.transactions[at]);
    let by_others = dependencies.iter().any(|d| d.kind == ItemEdgeKind::Write);
    let end = if by_others { " and what they left" } else { "" };
    let mut cycle = cycle(search, dependencies);
    cycle.lines.push(format!(
        "no order explains the answers of {one} and {other}{end}, wherever the others stand"
    ));
    cycle
}

/// The dependencies that both orders of two transactions show, behind all that committed before them and before those
/// who are `behind`; none where one order is not refuted.
fn both_refuted(
    search: &SerialOrderSearch<'_>,
    serial: &mut dyn SerialRun,
    pair: [usize; 2],
    behind: &[usize],
) -> Result<Option<Vec<CycleDependency>>, EngineError> {
    let [one, other] = pair;
    let before: Vec<usize> = (0..one).collect();
    let mut dependencies = Vec::new();
    for order in [[other, one], [one, other]] {
        match search.refute(serial, &before, order, behind)? {
            Some(refutation) => dependencies.push(dependency(search, order, &refutation)),
            // The order of their session is the other dependency.
            None => return Ok(None),
        }
    }
    Ok(Some(dependencies))
}

fn cycle(search: &SerialOrderSearch<'_>, mut dependencies: Vec<CycleDependency>) -> Cycle {
    let lowest = dependencies.iter().map(|dependency| dependency.from).min();
    dependencies.sort_by_key(|dependency| Some(dependency.from) != lowest);
    let steps = dependencies.iter();
    let steps = steps.map(|dependency| (dependency.from, dependency.label.clone()));
    let cycle = TransactionCycle::new(steps.collect());
    let mut lines: Vec<String> = cycle.iter().map(|c| format!("cycle: {c}")).collect();
    let class = search
        .evidence
        .case
        .claim
        .and_then(|_| class(&dependencies));
    lines.extend(dependencies.into_iter().map(|dependency| dependency.reason));
    Cycle { lines, class }
}

/// The anomaly of two dependencies that refutations show. Asked only where a stronger level was claimed than
/// run: else one statement with a wrong answer refutes both orders, and the two dependencies are none.
fn class(dependencies: &[CycleDependency]) -> Option<AnomalyClass> {
    let count = |kind| dependencies.iter().filter(|d| d.kind == kind).count();
    let (anti, read) = (count(ItemEdgeKind::Anti), count(ItemEdgeKind::Read));
    match (anti, read) {
        (2, _) => Some(AnomalyClass::WriteSkew),
        (1, 1) => Some(AnomalyClass::ReadSkew),
        (1, 0) => Some(AnomalyClass::LostUpdate),
        (0, 1 | 2) => Some(AnomalyClass::CircularFlow),
        // The final state alone contradicts both orders.
        _ => None,
    }
}

/// The dependency that an order's refutation shows: its later transaction comes before the earlier.
fn dependency(
    search: &SerialOrderSearch<'_>,
    order: [usize; 2],
    refutation: &Difference,
) -> CycleDependency {
    let [earlier, later] = order.map(|at| search.transactions[at]);
    let (by_earlier, by_later) = (search.written(order[0]), search.written(order[1]));
    let kind = match refutation.statement {
        Some(id) if id.transaction == later => ItemEdgeKind::Anti,
        Some(id) if id.transaction == earlier => ItemEdgeKind::Read,
        // Another read what the two left.
        Some(_) => ItemEdgeKind::Write,
        None => kind_at_the_end(&refutation.expected, &by_earlier, &by_later),
    };
    // One statement differs; where the end does, whatever the transaction names may have been read for it.
    let of_reader = |of: TransactionId| -> BTreeSet<&str> {
        let statements = search.evidence.case.statements.iter();
        let reader = statements.filter(|s| match refutation.statement {
            Some(id) => s.id == id,
            None => s.id.transaction == of,
        });
        let uses = reader.flat_map(|s| &s.effect.uses);
        uses.map(|u| u.table.as_str()).collect()
    };
    let tables: BTreeSet<&str> = match kind {
        ItemEdgeKind::Anti => &of_reader(later) & &by_earlier,
        ItemEdgeKind::Read => &of_reader(earlier) & &by_later,
        ItemEdgeKind::Write | ItemEdgeKind::Session | ItemEdgeKind::Program => {
            &by_earlier & &by_later
        }
    };
    let tables: Vec<&str> = tables.into_iter().collect();
    let Difference {
        aspect,
        expected,
        got,
        ..
    } = refutation;
    let what = match refutation.statement {
        None => String::new(),
        Some(_) => format!(" ({aspect})"),
    };
    let place = place_text(refutation.statement);
    CycleDependency {
        from: later,
        kind,
        // Without a table where the later one saw what a third one had written before the earlier.
        label: match tables[..] {
            [] => kind.to_string(),
            [..] => format!("{kind}({})", tables.join(", ")),
        },
        reason: format!(
            "{later} before {earlier}: were {earlier} first, {place}{what} would be {expected}; it was {got}"
        ),
    }
}

/// What a difference at the end, `t0: (1) (2)`, shows of an order of two. In a table that one of them alone writes it is no order
/// of writes: that one wrote by what it had read.
fn kind_at_the_end(
    expected: &str,
    by_earlier: &BTreeSet<&str>,
    by_later: &BTreeSet<&str>,
) -> ItemEdgeKind {
    let table = expected
        .split_once(": ")
        .map_or(expected, |(table, _)| table);
    match (by_earlier.contains(table), by_later.contains(table)) {
        (false, true) => ItemEdgeKind::Anti,
        (true, false) => ItemEdgeKind::Read,
        (true, true) | (false, false) => ItemEdgeKind::Write,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::kind_at_the_end;
    use crate::oracle::isolation::ItemEdgeKind;

    #[test]
    fn the_end_of_a_table_that_one_transaction_writes_shows_what_that_one_read() {
        let (earlier, later) = (BTreeSet::from(["a", "b"]), BTreeSet::from(["b", "c"]));
        let kind = |table: &str| kind_at_the_end(&format!("{table}: (1, 2)"), &earlier, &later);
        assert_eq!(kind("a"), ItemEdgeKind::Read);
        assert_eq!(kind("b"), ItemEdgeKind::Write);
        assert_eq!(kind("c"), ItemEdgeKind::Anti);
    }
}
