//! From dependencies to the anomaly that has a name.

use std::collections::BTreeSet;

use super::dependencies::{
    ItemEdgeKind, ItemGraph, ItemReason, ItemStep, commits, has_known_writer, item_text, lasting,
    query_text, version_text,
};
use super::promises::promised;
use super::reads::ItemQuery;
use crate::model::{
    Anomaly, AnomalyClass, ReadMode, StatementId, StatementKind, Tick, TransactionCycle,
    TransactionId, TransactionStatus,
};
use crate::observe::VersionId;
use crate::oracle::Evidence;

/// An anomaly of a run with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::oracle) struct ItemAnomaly {
    pub(in crate::oracle) anomaly: Anomaly,
    /// The same as a reader of findings would name it: a cycle through a row that a range did not hold when
    /// it was read is a phantom, however many dependencies it has.
    pub(in crate::oracle) class: AnomalyClass,
    /// `T1 -rw(t0 row 3)-> T2 -ww(t0 row 3)-> T1`, or what was read.
    pub(in crate::oracle) shape: String,
    /// One line for each dependency.
    pub(in crate::oracle) lines: Vec<String>,
    /// The statements that made the dependencies.
    pub(in crate::oracle) statements: BTreeSet<StatementId>,
}

/// The worst anomaly of a run: G0, G1a, G1b, G1c, a read of what was not committed yet, G-single, the
/// rest.
pub(super) fn worst(
    evidence: &Evidence,
    queries: &[ItemQuery],
    graph: &ItemGraph,
) -> Option<ItemAnomaly> {
    use ItemEdgeKind::Write;
    let dirty_write = || {
        let steps = graph.cycle(&[Write])?;
        Some(told(Anomaly::DirtyWrite, &steps))
    };
    let single = |wanted| single_read(evidence, queries, wanted);
    dirty_write()
        .or_else(|| single(Anomaly::AbortedRead))
        .or_else(|| single(Anomaly::IntermediateRead))
        .or_else(|| circular_flow(graph))
        .or_else(|| single(Anomaly::DirtyRead))
        .or_else(|| with_antis(graph))
}

/// The cycle with the fewest anti-dependencies, by its name.
pub(in crate::oracle) fn cycle(graph: &ItemGraph) -> Option<ItemAnomaly> {
    circular_flow(graph).or_else(|| with_antis(graph))
}

fn circular_flow(graph: &ItemGraph) -> Option<ItemAnomaly> {
    use ItemEdgeKind::{Program, Read, Write};
    let steps = graph.cycle(&[Write, Read, Program])?;
    let only_writes = steps.iter().all(|step| step.kind == Write);
    let anomaly = match only_writes {
        true => Anomaly::DirtyWrite,
        false => Anomaly::CircularInformationFlow,
    };
    Some(told(anomaly, &steps))
}

fn with_antis(graph: &ItemGraph) -> Option<ItemAnomaly> {
    use ItemEdgeKind::{Anti, Program, Read, Session, Write};
    if let Some(steps) = graph.cycle_with_one(Anti, &[Write, Read, Program]) {
        return Some(told(single_anti(&steps), &steps));
    }
    if let Some(steps) = graph.cycle_with_one(Anti, &[Write, Read, Session, Program]) {
        let mut found = told(Anomaly::SessionGuaranteeViolation, &steps);
        if found.class == AnomalyClass::StaleRead && is_right_when_read(&steps) {
            found.class = AnomalyClass::ReadSkew;
        }
        return Some(found);
    }
    let steps = graph.cycle(&[Write, Read, Anti, Session, Program])?;
    Some(told(several_antis(&steps), &steps))
}

/// Whether the reader of the anti-dependency, which comes first, read only later what shows that it missed a write:
/// two reads of two moments, none of them stale when it was made.
fn is_right_when_read(steps: &[ItemStep]) -> bool {
    let (Some(anti), Some(back)) = (steps.first(), steps.last()) else {
        return false;
    };
    let of_reader = |step: &ItemStep| {
        let mut statements = step.reason.statements.iter();
        statements.find(|id| id.transaction == anti.from).copied()
    };
    let reads = of_reader(anti).zip(of_reader(back));
    back.kind == ItemEdgeKind::Read && reads.is_some_and(|(missed, seen)| missed < seen)
}

/// The name of a cycle with one anti-dependency, which comes first.
fn single_anti(steps: &[ItemStep]) -> Anomaly {
    let between: Vec<&ItemStep> = steps.iter().filter(|step| step.from != step.to).collect();
    let [anti, back] = between.as_slice() else {
        return Anomaly::ReadSkew;
    };
    let same_row = anti.reason.item == back.reason.item;
    let same_query = !steps.iter().any(|step| step.from == step.to);
    match (back.kind, same_row) {
        (ItemEdgeKind::Write, true) => Anomaly::LostUpdate,
        (ItemEdgeKind::Read, true) => Anomaly::NonRepeatableRead,
        (ItemEdgeKind::Read, false) if !same_query => Anomaly::NonMonotonicRead,
        _ => Anomaly::ReadSkew,
    }
}

/// The name of a cycle with several anti-dependencies: a long fork where no two of them meet.
fn several_antis(steps: &[ItemStep]) -> Anomaly {
    let between: Vec<&ItemStep> = steps.iter().filter(|step| step.from != step.to).collect();
    let next = between.iter().cycle().skip(1);
    let anti = |step: &ItemStep| step.kind == ItemEdgeKind::Anti;
    let adjacent = between.iter().zip(next).any(|(a, b)| anti(a) && anti(b));
    if adjacent {
        Anomaly::WriteSkew
    } else {
        Anomaly::LongFork
    }
}

fn told(anomaly: Anomaly, steps: &[ItemStep]) -> ItemAnomaly {
    let label = |step: &ItemStep| {
        let ItemReason { item, .. } = &step.reason;
        match item.is_empty() {
            true => step.kind.to_string(),
            false => format!("{}({item})", step.kind),
        }
    };
    let between = steps.iter().filter(|step| step.from != step.to);
    let between = between.map(|step| (step.from, label(step))).collect();
    let shape = TransactionCycle::new(between).map_or(String::new(), |cycle| cycle.to_string());
    let class = match steps.iter().any(|step| step.reason.came_into_range) {
        true => AnomalyClass::Phantom,
        false => anomaly.into(),
    };
    ItemAnomaly {
        anomaly,
        class,
        shape,
        lines: steps.iter().map(line).collect(),
        statements: steps
            .iter()
            .flat_map(|step| &step.reason.statements)
            .copied()
            .filter(|id| *id != StatementId::SETUP)
            .collect(),
    }
}

fn line(step: &ItemStep) -> String {
    let ItemStep {
        from,
        to,
        kind,
        reason,
        ..
    } = step;
    match from == to {
        true => reason.text.clone(),
        false => format!("{from} before {to} ({kind}): {}", reason.text),
    }
}

/// A read that is wrong by itself: of a version that does not last, that its writer replaced, or that
/// was not committed when it was read.
fn single_read(evidence: &Evidence, queries: &[ItemQuery], wanted: Anomaly) -> Option<ItemAnomaly> {
    let judged = |query: &&ItemQuery| {
        let reader = query.statement.transaction;
        query.mode != ReadMode::Anything
            && commits(evidence, reader)
            && promised(evidence, reader).is_some()
    };
    queries.iter().filter(judged).find_map(|query| {
        let wrong = |version: &&VersionId| wrong_read(evidence, query, **version) == Some(wanted);
        let version = query.versions.iter().find(wrong)?;
        Some(told_read(evidence, query, *version, wanted))
    })
}

fn wrong_read(evidence: &Evidence, query: &ItemQuery, version: VersionId) -> Option<Anomaly> {
    let chains = &evidence.account.chains;
    let of = chains.version(version);
    let writer = of.writer.transaction;
    let own = writer == query.statement.transaction || writer == TransactionId::SETUP;
    if own || !has_known_writer(evidence, version) {
        return None;
    }
    match evidence.execution.transactions.get(&writer)? {
        TransactionStatus::Aborted(_) => return Some(Anomaly::AbortedRead),
        TransactionStatus::Indeterminate => return None,
        TransactionStatus::Committed(_) => {}
    }
    if of.undone.is_some() {
        return Some(Anomaly::AbortedRead);
    }
    let chain = lasting(evidence, chains.chain(&of.table, &of.id));
    let own = |id: &&VersionId| chains.version(**id).writer.transaction == writer;
    if chain.iter().rfind(own) != Some(&version) {
        return Some(Anomaly::IntermediateRead);
    }
    let committing = committing(evidence, writer)?;
    (query.at < committing).then_some(Anomaly::DirtyRead)
}

/// When the COMMIT of a transaction was sent; none for a statement in autocommit, whose commit has no
/// moment of its own.
fn committing(evidence: &Evidence, transaction: TransactionId) -> Option<Tick> {
    let commits = evidence.case.statements.iter().rev().find(|statement| {
        statement.id.transaction == transaction && statement.effect.kind == StatementKind::Commit
    });
    let record = evidence.execution.records.get(&commits?.id)?;
    Some(record.sent)
}

fn told_read(
    evidence: &Evidence,
    query: &ItemQuery,
    version: VersionId,
    anomaly: Anomaly,
) -> ItemAnomaly {
    let of = evidence.account.chains.version(version);
    let writer = of.writer.transaction;
    let why = if anomaly == Anomaly::IntermediateRead {
        format!("{writer} wrote this row again before it committed")
    } else if anomaly == Anomaly::DirtyRead {
        format!("{writer} had not committed yet")
    } else {
        format!("{writer} undid it")
    };
    let item = item_text(&of.table, &of.id);
    let (reader, shown) = (query_text(query), version_text(of));
    ItemAnomaly {
        anomaly,
        class: anomaly.into(),
        shape: format!("{reader} shows {item} as {} wrote it", of.writer),
        lines: vec![format!(
            "{reader} shows {shown} of {item}, which {} wrote: {why}",
            of.writer
        )],
        statements: BTreeSet::from([query.statement, of.writer]),
    }
}
