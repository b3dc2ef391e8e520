//! Which version follows which, as far as the events say it.
//!
//! A transaction that reads a version and writes the key makes the next version (MTC, section IV);
//! a list says the order of its versions; the initial version precedes all others.

use std::collections::BTreeMap;

use crate::checker::evidence::counterexample::{Counterexample, Edge, Reason};
use crate::checker::resolved::resolve::Resolved;
use crate::checker::resolved::version::{NONE, Version};
use crate::history::{Atom, Key, Kind, Txn};
use crate::model::Anomaly;

/// Chains of versions, each following the one before immediately.
#[derive(Clone, Debug)]
pub(in crate::checker) struct ChainedVersions {
    /// The version after a version, or [`NONE`] where it is the last of its chain.
    pub(in crate::checker) next: Vec<Version>,
    /// First versions of chains by key, but for the chain of the initial version.
    pub(in crate::checker) heads: Vec<(Key, Version)>,
}

impl ChainedVersions {
    /// Whether every key has its whole version order.
    pub(in crate::checker) fn is_total(&self) -> bool {
        self.heads.is_empty()
    }

    /// Whether a transaction wrote a version that is known to follow another next, or next among
    /// those whose order is known: every head follows the chain of the initial version.
    pub(in crate::checker) fn is_followed_by(
        &self,
        resolved: &Resolved<'_>,
        version: Version,
        by: Txn,
    ) -> bool {
        let following = self.next[version];
        if following != NONE {
            return resolved.writer[following] == by;
        }
        let key = resolved.key[version];
        let begin = self.heads.partition_point(|head| head.0 < key);
        let heads = self.heads[begin..].iter().take_while(|head| head.0 == key);
        heads.clone().any(|head| resolved.writer[head.1] == by)
            && last_of(&self.next, Version::initial(key)) == version
    }
}

/// Builds the chains; two writers of one key that start from one version are a lost update, which
/// snapshot isolation and all stronger models forbid (MTC, lemma 1).
pub(in crate::checker) fn chains(
    resolved: &Resolved<'_>,
) -> Result<ChainedVersions, Counterexample> {
    let mut next = vec![NONE; resolved.writer.len()];
    let mut has_previous = vec![false; resolved.writer.len()];
    let is_listed = listed(resolved, &mut next, &mut has_previous)?;
    let mut written: Vec<(Txn, Version)> = vec![(Txn::INITIAL, NONE); resolved.history.key_count()];
    // Who read a version of a listed key and wrote the key.
    let mut updates: BTreeMap<Version, Txn> = BTreeMap::new();
    let mut heads = Vec::new();
    for transaction in resolved.live() {
        let writes = resolved.writes(transaction);
        if writes.is_empty() {
            continue;
        }
        for version in writes.clone() {
            written[resolved.key[version]] = (transaction, version);
        }
        for read in resolved.reads(transaction) {
            let key = resolved.key[*read];
            let (writer, version) = written[key];
            if writer != transaction {
                continue;
            }
            if is_listed.get(key.index()) == Some(&true) {
                let is_named = has_previous[version];
                let after = next[*read];
                if after != NONE && !is_named {
                    let other = resolved.writer[after];
                    return Err(overwritten(key, transaction, other));
                }
                let first = *updates.entry(*read).or_insert(transaction);
                if first != transaction {
                    return Err(lost_update(key, first, transaction));
                }
                continue;
            }
            let follower = &mut next[*read];
            if *follower == NONE {
                *follower = version;
                has_previous[version] = true;
            } else if *follower != version {
                let other = resolved.writer[*follower];
                return Err(lost_update(key, other, transaction));
            }
        }
        for version in writes {
            if !has_previous[version] {
                heads.push((resolved.key[version], version));
            }
        }
    }
    // A later transaction of a list may have been given its place only after it was looked at.
    heads.retain(|(_, version)| !has_previous[*version]);
    heads.sort_unstable();
    // A single chain beside the initial version can only follow it.
    let mut rest = Vec::new();
    for group in heads.chunk_by(|one, other| one.0 == other.0) {
        match group {
            [(key, head)] => {
                let last = last_of(&next, Version::initial(*key));
                next[last] = *head;
            }
            _ => rest.extend_from_slice(group),
        }
    }
    let heads = rest;
    Ok(ChainedVersions { next, heads })
}

/// The last version of a chain.
pub(in crate::checker) fn last_of(next: &[Version], mut version: Version) -> Version {
    // A chain that closes on itself is a cycle of reads, which the graph shows; here it must end.
    for _ in 0..next.len() {
        match next[version] {
            NONE => break,
            following => version = following,
        }
    }
    version
}

fn lost_update(key: Key, one: Txn, other: Txn) -> Counterexample {
    let edge = |from, to| Edge {
        from,
        to,
        reason: Reason::ReadWrite(key),
    };
    Counterexample {
        anomaly: Anomaly::LostUpdate,
        edges: vec![edge(one, other), edge(other, one)],
        core: Vec::new(),
    }
}

/// A transaction that read what another overwrote next, and wrote the key after this.
fn overwritten(key: Key, transaction: Txn, other: Txn) -> Counterexample {
    let edge = |from, to, reason| Edge { from, to, reason };
    Counterexample {
        anomaly: Anomaly::LostUpdate,
        edges: vec![
            edge(transaction, other, Reason::ReadWrite(key)),
            edge(other, transaction, Reason::WriteWrite(key)),
        ],
        core: Vec::new(),
    }
}

/// Chains the versions that the history itself orders; which keys it did so for.
fn listed(
    resolved: &Resolved<'_>,
    next: &mut [Version],
    has_previous: &mut [bool],
) -> Result<Vec<bool>, Counterexample> {
    let orders = resolved.history.orders();
    if orders.is_empty() {
        return Ok(Vec::new());
    }
    let mut is_listed = vec![false; resolved.history.key_count()];
    let places = places(resolved);
    for (key, values) in orders {
        is_listed[*key] = true;
        let mut last = Version::initial(*key);
        for value in values {
            let found = places.binary_search_by_key(&(*key, *value), |(k, v, _)| (*k, *v));
            let Some((_, _, version)) = found.ok().and_then(|at| places.get(at)) else {
                continue;
            };
            if *version == last {
                continue;
            }
            if next[last] != NONE || has_previous[*version] {
                return Err(parted(resolved, *key, last, *version));
            }
            next[last] = *version;
            has_previous[*version] = true;
            last = *version;
        }
        whole_writes(resolved, &places, *key, values)?;
    }
    Ok(is_listed)
}

/// What a transaction wrote to a list stands there whole and in its own order; only the end of the
/// list may be amid a transaction.
fn whole_writes(
    resolved: &Resolved<'_>,
    places: &[(Key, Atom, Version)],
    key: Key,
    values: &[Atom],
) -> Result<(), Counterexample> {
    let mut rest = values;
    while let Some(value) = rest.first() {
        let found = places.binary_search_by_key(&(key, *value), |(k, v, _)| (*k, *v));
        let Some((_, _, version)) = found.ok().and_then(|at| places.get(at)) else {
            rest = &rest[1..];
            continue;
        };
        let writer = resolved.writer[*version];
        let events = resolved.history.events(writer);
        let writes = events.filter(|e| e.kind == Kind::Write && e.key == key);
        let whole: Vec<Atom> = writes.map(|event| event.value).collect();
        let shown = whole.len().min(rest.len());
        if rest[..shown] != whole[..shown] {
            return Err(Counterexample {
                anomaly: Anomaly::IncompatibleOrder,
                edges: vec![Edge {
                    from: writer,
                    to: writer,
                    reason: Reason::Lists(key),
                }],
                core: Vec::new(),
            });
        }
        rest = &rest[shown..];
    }
    Ok(())
}

/// The writes of one transaction with another's between them.
fn parted(resolved: &Resolved<'_>, key: Key, between: Version, around: Version) -> Counterexample {
    let edge = |from: Version, to: Version| Edge {
        from: resolved.writer[from],
        to: resolved.writer[to],
        reason: Reason::WriteWrite(key),
    };
    Counterexample {
        anomaly: Anomaly::DirtyWrite,
        edges: vec![edge(around, between), edge(between, around)],
        core: Vec::new(),
    }
}

/// Every write of a transaction that counts, by key and value, with the version it went into.
fn places(resolved: &Resolved<'_>) -> Vec<(Key, Atom, Version)> {
    let history = resolved.history;
    let mut places = Vec::new();
    let mut version_of = vec![NONE; history.key_count()];
    for transaction in resolved.live() {
        for version in resolved.writes(transaction) {
            version_of[resolved.key[version]] = version;
        }
        for event in history
            .events(transaction)
            .filter(|e| e.kind == Kind::Write)
        {
            places.push((event.key, event.value, version_of[event.key]));
        }
    }
    places.sort_unstable();
    places
}

/// The order that lists show between transactions, where the history has lists: neighbours of each
/// list, and its last before whatever it does not name.
pub(in crate::checker) fn listed_orders(
    resolved: &Resolved<'_>,
) -> Result<Vec<(Txn, Txn)>, Counterexample> {
    let mut next = vec![NONE; resolved.writer.len()];
    let mut has_previous = vec![false; resolved.writer.len()];
    let is_listed = listed(resolved, &mut next, &mut has_previous)?;
    if is_listed.is_empty() {
        return Ok(Vec::new());
    }
    let writer = |version: Version| resolved.writer[version];
    let mut pairs: Vec<(Txn, Txn)> = (0u32..)
        .map(Version::new)
        .zip(&next)
        .filter(|(version, next)| **next != NONE && !writer(*version).is_initial())
        .map(|(version, next)| (writer(version), writer(*next)))
        .collect();
    let last: Vec<Version> = resolved
        .history
        .all_keys()
        .map(|key| last_of(&next, Version::initial(key)))
        .collect();
    for transaction in resolved.live() {
        for version in resolved.writes(transaction) {
            let key = resolved.key[version];
            let end = last[key];
            if is_listed[key] && !has_previous[version] && !writer(end).is_initial() {
                pairs.push((writer(end), transaction));
            }
        }
    }
    Ok(pairs)
}
