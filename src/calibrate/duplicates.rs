//! Whether an INSERT that meets a row under a key of its own keeps others from changing that row.

use super::entry::{CalibratedEntry, Proof};
use super::stage::{Halt, Reply, Stage};
use crate::dialect::{Capability, Dialect};
use crate::model::{ErrorClass, IsolationLevel};

/// The name of the capability that it proves.
pub(super) const KEY: &str = "locks-duplicates";

/// Statements that meet row 1, and what they are told.
const INSERTS: [(&str, Option<ErrorClass>); 3] = [
    ("INSERT INTO u VALUES (1, 7)", Some(ErrorClass::Duplicate)),
    (
        "INSERT INTO u VALUES ({key}, 7), (1, 7)",
        Some(ErrorClass::Duplicate),
    ),
    ("INSERT IGNORE INTO u VALUES (1, 7)", None),
];

/// What there is to prove; nothing where the dialect does not say it.
pub(super) fn of(dialect: &Dialect) -> &'static [(&'static str, Option<ErrorClass>)] {
    match dialect.supports(Capability::LocksDuplicates) {
        true => &INSERTS,
        false => &[],
    }
}

/// Asks the server.
pub(super) fn probe(
    stage: &mut Stage<'_>,
    level: IsolationLevel,
    (insert, told): (&str, Option<ErrorClass>),
) -> Result<CalibratedEntry, Halt> {
    let first = insert.replace("{key}", &stage.key().to_string());
    let begin = stage.begin();
    stage.tested.must(begin)?;
    let outcome = stage.tested.run(&first)?;
    stage.other.must(begin)?;
    let reply = stage.ask_other_and_free("UPDATE u SET c = 55 WHERE pkey = 1")?;
    let waits = matches!(reply, Reply::Waits);
    stage.reset()?;
    let words = |waits: bool| match waits {
        true => "an UPDATE of the row waits",
        false => "an UPDATE of the row does not wait",
    };
    let proof = match waits && outcome.error_class() == told {
        true => Proof::Right,
        false => Proof::Wrong,
    };
    let entry = CalibratedEntry::new(
        format!("{KEY} at {}", level.slug()),
        insert.to_owned(),
        words(true).to_owned(),
        proof,
    );
    Ok(entry.measured(words(waits)))
}
