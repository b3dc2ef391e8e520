//! Whether a statement that looks a unique key up, and finds no row, keeps others from making one.

use super::entry::{CalibratedEntry, Proof};
use super::stage::{Halt, Reply, Stage};
use crate::dialect::Dialect;
use crate::model::IsolationLevel;

/// The key of the dialect file that it proves.
pub(super) const KEY: &str = "locks-absent-keys";

/// Statements that look the key `{key}` up, which is not there, `{lock}` being the lock clause that waits.
const LOOKUPS: [&str; 4] = [
    "SELECT c FROM u WHERE pkey = {key} {lock}",
    "SELECT c FROM u WHERE pkey IN (1, {key}) {lock}",
    "UPDATE u SET c = 5 WHERE pkey = {key}",
    "DELETE FROM u WHERE pkey = {key}",
];

/// What there is to prove; nothing where the dialect says it of no level.
pub(super) fn of(dialect: &Dialect) -> &'static [&'static str] {
    match dialect.locks_absent_keys.is_empty() {
        true => &[],
        false => &LOOKUPS,
    }
}

/// Asks the server.
pub(super) fn probe(
    stage: &mut Stage<'_>,
    level: IsolationLevel,
    lookup: &str,
) -> Result<CalibratedEntry, Halt> {
    let dialect = stage.server.dialect();
    let key = stage.key().to_string();
    let lock = dialect.spelling.lock_clauses.get("update");
    let first = lookup
        .replace("{key}", &key)
        .replace("{lock}", lock.map_or("", String::as_str));
    let begin = stage.begin();
    stage.tested.must(begin)?;
    stage.tested.must(&first)?;
    stage.other.must(begin)?;
    let reply = stage.ask_other_and_free(&format!("INSERT INTO u VALUES ({key}, 2)"))?;
    let waits = matches!(reply, Reply::Waits);
    stage.reset()?;
    let claim = dialect.locks_absent_keys.contains(&level);
    let words = |waits: bool| match waits {
        true => "an INSERT of the key waits",
        false => "an INSERT of the key does not wait",
    };
    let proof = match waits == claim {
        true => Proof::Right,
        false => Proof::Wrong,
    };
    let entry = CalibratedEntry::new(
        format!("{KEY} at {}", level.slug()),
        lookup.to_owned(),
        words(claim).to_owned(),
        proof,
    );
    Ok(entry.measured(words(waits)))
}
