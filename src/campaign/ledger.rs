//! The findings of a run, and whether another sighting of one is worth minimizing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{Signature, StatementKind};
use crate::reproducer::Reproduced;

/// Of findings that look alike one in so many is minimized at least.
const PAUSE_MAX: u64 = 64;

/// How many shapes of one group are told apart; further ones are counted as sightings alone.
const SHAPES_MAX: usize = 64;

/// When and in which shapes the findings of a group were seen, beginning with the first that was minimized.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sightings {
    /// Seconds since 1970; 0 where nothing was seen.
    pub first_unix_s: u64,
    pub last_unix_s: u64,
    /// Cases that came to the group.
    pub count: u64,
    /// Sightings by the text of the whole signature.
    pub shapes: BTreeMap<String, u64>,
}

impl Sightings {
    /// Notes one more, and says whether its shape is new.
    fn add(&mut self, signature: &Signature, now_unix_s: u64) -> bool {
        if self.count == 0 {
            self.first_unix_s = now_unix_s;
        }
        self.last_unix_s = now_unix_s;
        self.count += 1;
        let text = signature.text();
        if let Some(shape) = self.shapes.get_mut(&text) {
            *shape += 1;
            return false;
        }
        let is_counted = self.shapes.len() < SHAPES_MAX;
        if is_counted {
            self.shapes.insert(text, 1);
        }
        is_counted
    }
}

/// One published finding: the smallest case of its group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// The reproducer, as it is announced.
    pub path: String,
    /// What is wrong, in one line; empty of a file that an earlier run left.
    pub headline: String,
    /// Statements of the case: a smaller one replaces it.
    pub size: u64,
    /// Of this run.
    pub sightings: Sightings,
}

/// Findings that look alike before they are minimized.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Bucket {
    sightings: u64,
    /// Minimizations in a row that led to nothing new.
    barren: u32,
    /// The next sighting that is worth minimizing.
    next: u64,
    /// The last minimization led to what an entry of the registry explains.
    known: bool,
}

/// A finding that does not show in every run, one for all cases of its group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlakyFinding {
    pub path: String,
    pub headline: String,
    /// Statements of the case: a smaller one replaces it.
    pub size: u64,
    pub sightings: Sightings,
    /// Violations in the runs of the published case.
    pub hits: u32,
    pub runs: u32,
}

/// Whether findings show in every run. Those that do and those that do not are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Showing {
    Always,
    Sometimes,
}

/// What a minimization led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Led {
    New,
    /// One that was published before.
    Seen,
    /// An entry of the registry explains it.
    Known,
}

/// Everything found, by the identifier of the signature.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    published: BTreeMap<String, Published>,
    /// Findings that do not show in every run.
    flaky: BTreeMap<String, FlakyFinding>,
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
    /// The first three always are; after minimizations that led to nothing new, ever fewer, down to one
    /// in `PAUSE_MAX`: a bug seen a thousand times must not stop the search for the next one, nor
    /// hide one that looks like it.
    pub fn is_worth_minimizing(&mut self, raw: &Signature, showing: Showing) -> bool {
        let bucket = self.buckets.entry(look(raw, showing)).or_default();
        bucket.sightings += 1;
        bucket.sightings >= bucket.next
    }

    /// Notes the result of minimizing a finding of this look.
    pub fn minimized(&mut self, raw: &Signature, showing: Showing, led: Led) {
        let bucket = self.buckets.entry(look(raw, showing)).or_default();
        bucket.barren = match led {
            Led::New => 0,
            Led::Seen | Led::Known => (bucket.barren + 1).min(32),
        };
        bucket.known = led == Led::Known;
        let pause = if bucket.barren < 3 {
            1
        } else {
            (1_u64 << (bucket.barren - 2)).min(PAUSE_MAX)
        };
        bucket.next = bucket.sightings + pause;
    }

    /// Whether the last finding of this look that was minimized is one that the registry explains.
    pub fn looks_known(&self, raw: &Signature, showing: Showing) -> bool {
        let bucket = self.buckets.get(&look(raw, showing));
        bucket.is_some_and(|bucket| bucket.known)
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
    pub fn publish(
        &mut self,
        signature: &Signature,
        path: &str,
        headline: &str,
        size: u64,
        now_unix_s: u64,
    ) {
        let before = self.published(signature);
        let mut sightings = before.map_or(Sightings::default(), |p| p.sightings.clone());
        sightings.add(signature, now_unix_s);
        let published = Published {
            path: path.to_owned(),
            headline: headline.to_owned(),
            size,
            sightings,
        };
        self.published.insert(signature.id(), published);
    }

    /// Counts one more sighting of a published finding, and says what it led to: a shape that its group did
    /// not have is new, for the next one of that look may be another bug.
    pub fn sighted(&mut self, signature: &Signature, now_unix_s: u64) -> Led {
        let published = self.published.get_mut(&signature.id());
        let is_new = published.is_some_and(|p| p.sightings.add(signature, now_unix_s));
        if is_new { Led::New } else { Led::Seen }
    }

    /// Takes over a reproducer that an earlier run left in the output folder.
    pub fn adopt(&mut self, signature_id: &str, path: &str, size: u64) {
        let published = Published {
            path: path.to_owned(),
            headline: String::new(),
            size,
            sightings: Sightings::default(),
        };
        self.published
            .entry(signature_id.to_owned())
            .or_insert(published);
    }

    /// Compares a finding that does not show in every run with those that were published.
    pub fn place_flaky(&self, signature: &Signature, size: u64) -> Novelty {
        match self.flaky.get(&signature.id()) {
            None => Novelty::New,
            Some(flaky) if size < flaky.size => Novelty::Smaller,
            Some(_) => Novelty::Duplicate,
        }
    }

    /// Notes the file of a finding that does not show in every run.
    pub fn publish_flaky(
        &mut self,
        signature: &Signature,
        path: &str,
        headline: &str,
        size: u64,
        (reproduced, now_unix_s): (Reproduced, u64),
    ) {
        let before = self.flaky.get(&signature.id());
        let mut sightings = before.map_or(Sightings::default(), |f| f.sightings.clone());
        sightings.add(signature, now_unix_s);
        let flaky = FlakyFinding {
            path: path.to_owned(),
            headline: headline.to_owned(),
            size,
            sightings,
            hits: reproduced.hits,
            runs: reproduced.runs,
        };
        self.flaky.insert(signature.id(), flaky);
    }

    /// Counts one more case of a published finding that does not show in every run.
    pub fn sighted_flaky(&mut self, signature: &Signature, now_unix_s: u64) -> Led {
        let flaky = self.flaky.get_mut(&signature.id());
        let is_new = flaky.is_some_and(|f| f.sightings.add(signature, now_unix_s));
        if is_new { Led::New } else { Led::Seen }
    }

    /// The findings that do not show in every run.
    pub fn flaky(&self) -> impl Iterator<Item = &FlakyFinding> {
        self.flaky.values()
    }

    /// Every group that this run saw, with its identifier.
    pub fn groups(&self) -> impl Iterator<Item = (&str, &Sightings)> {
        let published = self.published.iter().map(|(id, p)| (id, &p.sightings));
        let flaky = self.flaky.iter().map(|(id, f)| (id, &f.sightings));
        let all = published.chain(flaky).filter(|(_, seen)| seen.count > 0);
        all.map(|(id, seen)| (id.as_str(), seen))
    }

    /// Every finding that this run saw.
    pub fn findings(&self) -> impl Iterator<Item = &Published> {
        self.published
            .values()
            .filter(|published| published.sightings.count > 0)
    }
}

/// The signature without the features that minimizing changes: what stays is the anomaly, the direction,
/// and the kind of the statement that differs.
fn look(signature: &Signature, showing: Showing) -> String {
    let stays = |feature: &&String| {
        feature.starts_with("differs:") || StatementKind::ALL.iter().any(|k| k.slug() == **feature)
    };
    let stays: Vec<&str> = signature
        .features
        .iter()
        .filter(stays)
        .map(String::as_str)
        .collect();
    let word = match showing {
        Showing::Always => "",
        Showing::Sometimes => "flaky ",
    };
    format!(
        "{word}{} {} {} [{}] {}",
        signature.anomaly,
        signature.oracle,
        signature.kind,
        signature.levels.join(", "),
        stays.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FindingKind;

    fn signature(feature: &str) -> Signature {
        Signature::new(
            "serial",
            FindingKind::NotSerializable,
            vec!["serializable".to_owned()],
            vec![feature.to_owned()],
        )
    }

    #[test]
    fn a_smaller_case_of_the_same_signature_takes_the_place() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.place(&signature("a"), 6), Novelty::New);
        ledger.publish(&signature("a"), "a.sql", "wrong", 6, 100);
        assert_eq!(ledger.place(&signature("a"), 6), Novelty::Duplicate);
        assert_eq!(ledger.place(&signature("a"), 5), Novelty::Smaller);
        assert_eq!(ledger.place(&signature("b"), 6), Novelty::New);
        ledger.publish(&signature("a"), "a.sql", "wrong", 5, 200);
        assert_eq!(ledger.sighted(&signature("a"), 300), Led::Seen);
        assert_eq!(
            ledger
                .findings()
                .map(|f| {
                    let seen = &f.sightings;
                    (seen.count, seen.first_unix_s, seen.last_unix_s)
                })
                .collect::<Vec<_>>(),
            [(3, 100, 300)]
        );
    }

    #[test]
    fn another_shape_of_a_group_is_counted_and_keeps_minimizations_frequent() {
        let mut ledger = Ledger::default();
        let of = |features: [&str; 2]| Signature {
            features: features.map(str::to_owned).to_vec(),
            ..signature("")
        };
        let first = of(["open:insert", "select"]);
        let other = of(["open:delete", "select"]);
        assert_eq!(first.id(), other.id());
        ledger.publish(&first, "a.sql", "wrong", 6, 100);
        assert_eq!(ledger.place(&other, 6), Novelty::Duplicate);
        assert_eq!(ledger.sighted(&other, 200), Led::New);
        assert_eq!(ledger.sighted(&other, 300), Led::Seen);
        let shapes: Vec<u64> = ledger
            .findings()
            .flat_map(|f| f.sightings.shapes.values().copied())
            .collect();
        assert_eq!(shapes, [2, 1]);
    }

    #[test]
    fn barren_minimizations_become_rare_and_a_new_finding_makes_them_frequent_again() {
        let mut ledger = Ledger::default();
        let mut minimized = 0;
        for _ in 0..1000 {
            if ledger.is_worth_minimizing(&signature("raw"), Showing::Always) {
                minimized += 1;
                ledger.minimized(&signature("raw"), Showing::Always, Led::Seen);
            }
        }
        assert!(
            (18..=28).contains(&minimized),
            "{minimized} of 1000 were minimized"
        );
        ledger.minimized(&signature("raw"), Showing::Always, Led::New);
        assert!(ledger.is_worth_minimizing(&signature("raw"), Showing::Always));
    }

    #[test]
    fn however_often_a_finding_was_seen_the_pause_has_a_ceiling() {
        let mut ledger = Ledger::default();
        for _ in 0..100_000 {
            if ledger.is_worth_minimizing(&signature("raw"), Showing::Always) {
                ledger.minimized(&signature("raw"), Showing::Always, Led::Known);
            }
        }
        let again = (1..=PAUSE_MAX)
            .filter(|_| ledger.is_worth_minimizing(&signature("raw"), Showing::Always));
        assert!(again.count() > 0);
    }

    #[test]
    fn another_direction_or_statement_is_another_look() {
        let mut ledger = Ledger::default();
        let seen = ["differs:lost", "select", "order-by"];
        let of = |features: [&str; 3]| Signature {
            features: features.map(str::to_owned).to_vec(),
            ..signature("")
        };
        for _ in 0..10 {
            ledger.is_worth_minimizing(&of(seen), Showing::Always);
            ledger.minimized(&of(seen), Showing::Always, Led::Known);
        }
        assert!(ledger.looks_known(&of(seen), Showing::Always));
        assert!(!ledger.is_worth_minimizing(&of(seen), Showing::Always));
        assert!(
            !ledger.is_worth_minimizing(&of(["differs:lost", "limit", "select"]), Showing::Always)
        );
        for other in [
            ["differs:extra", "select", "order-by"],
            ["differs:lost", "locking-select", "order-by"],
        ] {
            assert!(!ledger.looks_known(&of(other), Showing::Always));
            assert!(ledger.is_worth_minimizing(&of(other), Showing::Always));
        }
        assert!(ledger.is_worth_minimizing(&of(seen), Showing::Sometimes));
    }

    #[test]
    fn what_an_earlier_run_left_is_not_found_by_this_one() {
        let mut ledger = Ledger::default();
        ledger.adopt(&signature("a").id(), "a.sql", 4);
        assert_eq!(ledger.findings().count(), 0);
        assert_eq!(ledger.place(&signature("a"), 4), Novelty::Duplicate);
    }
}
