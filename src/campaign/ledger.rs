//! The findings of a run, and whether another sighting of one is worth minimizing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::Signature;

/// One published finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// The reproducer, as it is announced.
    pub path: String,
    /// What is wrong, in one line; empty of a file that an earlier run left.
    pub headline: String,
    /// Statements of the case: a smaller one replaces it.
    pub size: u64,
    /// Sightings, the first included.
    pub sightings: u64,
}

/// Findings that look alike before they are minimized.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Bucket {
    sightings: u64,
    /// Minimizations in a row that led to nothing new.
    barren: u32,
    /// The next sighting that is worth minimizing.
    next: u64,
}

/// Everything found, by signature.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    published: BTreeMap<String, Published>,
    /// Headlines of flaky cases, by file.
    flaky: BTreeMap<String, String>,
    buckets: BTreeMap<String, Bucket>,
}

/// How a minimized finding compares with those that were published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Novelty {
    /// Never seen: publish it.
    New,
    /// Seen, and this case is smaller: publish it in its place.
    Smaller,
    /// Seen: count it.
    Duplicate,
}

impl Ledger {
    /// Whether one more finding of this look is worth minimizing.
    ///
    /// The first three always are; after minimizations that led to nothing new, ever fewer: a bug
    /// seen a thousand times must not stop the search for the next one.
    pub fn is_worth_minimizing(&mut self, raw: &Signature) -> bool {
        let bucket = self.buckets.entry(look(raw)).or_default();
        bucket.sightings += 1;
        bucket.sightings >= bucket.next
    }

    /// Notes the result of minimizing a finding of this look.
    pub fn minimized(&mut self, raw: &Signature, place: Novelty) {
        let bucket = self.buckets.entry(look(raw)).or_default();
        bucket.barren = if place == Novelty::New {
            0
        } else {
            (bucket.barren + 1).min(32)
        };
        let pause = if bucket.barren < 3 {
            1
        } else {
            1_u64 << (bucket.barren - 2)
        };
        bucket.next = bucket.sightings + pause;
    }

    /// Compares a minimized finding with the published ones, by its signature and its statements.
    pub fn place(&self, signature: &Signature, size: u64) -> Novelty {
        match self.published.get(&signature.id()) {
            None => Novelty::New,
            Some(published) if size < published.size => Novelty::Smaller,
            Some(_) => Novelty::Duplicate,
        }
    }

    /// The published finding of a signature.
    pub fn published(&self, signature: &Signature) -> Option<&Published> {
        self.published.get(&signature.id())
    }

    /// Notes a file that was published.
    pub fn publish(&mut self, signature: &Signature, path: &str, headline: &str, size: u64) {
        let sightings = self
            .published(signature)
            .map_or(0, |published| published.sightings)
            + 1;
        let published = Published {
            path: path.to_owned(),
            headline: headline.to_owned(),
            size,
            sightings,
        };
        self.published.insert(signature.id(), published);
    }

    /// Counts one more sighting of a published finding.
    pub fn sighted(&mut self, signature: &Signature) {
        if let Some(published) = self.published.get_mut(&signature.id()) {
            published.sightings += 1;
        }
    }

    /// Takes over a reproducer that an earlier run left in the output folder.
    pub fn adopt(&mut self, signature_id: &str, path: &str, size: u64) {
        let published = Published {
            path: path.to_owned(),
            headline: String::new(),
            size,
            sightings: 0,
        };
        self.published
            .entry(signature_id.to_owned())
            .or_insert(published);
    }

    /// Notes the file of a case whose violation does not show in every run.
    pub fn keep_flaky(&mut self, path: String, headline: &str) {
        self.flaky.insert(path, headline.to_owned());
    }

    /// The headlines of the flaky cases, by file.
    pub fn flaky(&self) -> &BTreeMap<String, String> {
        &self.flaky
    }

    /// Every finding that this run saw.
    pub fn findings(&self) -> impl Iterator<Item = &Published> {
        self.published
            .values()
            .filter(|published| published.sightings > 0)
    }
}

/// The signature without its features, which minimizing changes.
fn look(signature: &Signature) -> String {
    format!(
        "{} {} [{}]",
        signature.oracle,
        signature.kind,
        signature.levels.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FindingKind;

    fn signature(feature: &str) -> Signature {
        Signature {
            oracle: "serial".to_owned(),
            kind: FindingKind::NotSerializable,
            levels: vec!["serializable".to_owned()],
            features: vec![feature.to_owned()],
        }
    }

    #[test]
    fn a_smaller_case_of_the_same_signature_takes_the_place() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.place(&signature("a"), 6), Novelty::New);
        ledger.publish(&signature("a"), "a.sql", "wrong", 6);
        assert_eq!(ledger.place(&signature("a"), 6), Novelty::Duplicate);
        assert_eq!(ledger.place(&signature("a"), 5), Novelty::Smaller);
        assert_eq!(ledger.place(&signature("b"), 6), Novelty::New);
        ledger.publish(&signature("a"), "a.sql", "wrong", 5);
        ledger.sighted(&signature("a"));
        assert_eq!(
            ledger.findings().map(|f| f.sightings).collect::<Vec<_>>(),
            [3]
        );
    }

    #[test]
    fn barren_minimizations_become_rare_and_a_new_finding_makes_them_frequent_again() {
        let mut ledger = Ledger::default();
        let mut minimized = 0;
        for _ in 0..1000 {
            if ledger.is_worth_minimizing(&signature("raw")) {
                minimized += 1;
                ledger.minimized(&signature("raw"), Novelty::Duplicate);
            }
        }
        assert!(
            (8..=14).contains(&minimized),
            "{minimized} of 1000 were minimized"
        );
        ledger.minimized(&signature("raw"), Novelty::New);
        assert!(ledger.is_worth_minimizing(&signature("raw")));
    }

    #[test]
    fn what_an_earlier_run_left_is_not_found_by_this_one() {
        let mut ledger = Ledger::default();
        ledger.adopt(&signature("a").id(), "a.sql", 4);
        assert_eq!(ledger.findings().count(), 0);
        assert_eq!(ledger.place(&signature("a"), 4), Novelty::Duplicate);
    }
}
