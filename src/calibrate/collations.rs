//! Which texts the collations of the dialect file hold for equal, and whether the server takes the modes that it
//! names.

use super::entry::{CalibratedEntry, Proof};
use super::stage::{Halt, Stage};
use crate::model::{Folding, Outcome, Value};

/// The keys of the dialect file that it proves.
pub(super) const COLLATION: &str = "collation";
pub(super) const MODE: &str = "session-mode";

/// Compares texts that differ in case, in blanks at the end, and altogether.
pub(super) fn probe(
    stage: &mut Stage<'_>,
    name: &str,
    folding: Folding,
) -> Result<CalibratedEntry, Halt> {
    let collation = stage.server.dialect().quote(name);
    let equal = |one: &str, other: &str| {
        format!("CASE WHEN '{one}' = '{other}' COLLATE {collation} THEN 1 ELSE 0 END")
    };
    let sql = format!(
        "SELECT {}, {}, {}",
        equal("a", "A"),
        equal("a", "a "),
        equal("a", "b")
    );
    let claimed = told([folding.case, folding.trailing_blanks, false]);
    let measured = match stage.tested.run(&sql)? {
        Outcome::Rejected(error) => error.message,
        outcome @ (Outcome::Rows(_) | Outcome::Affected(_)) => match outcome.rows() {
            [row] => {
                let is_one = |at: usize| row.get(at) == Some(&Value::Integer(1));
                told([0, 1, 2].map(is_one))
            }
            _ => "no row".to_owned(),
        },
    };
    let proof = if measured == claimed {
        Proof::Right
    } else {
        Proof::Wrong
    };
    let entry = CalibratedEntry::new(format!("{COLLATION}.{name}"), sql, claimed, proof);
    Ok(entry.measured(measured))
}

/// What is equal, in words: texts that differ in case, in blanks at the end, in their letters.
fn told(equal: [bool; 3]) -> String {
    let words = equal
        .into_iter()
        .zip(["case", "trailing-blanks", "letters"]);
    let ignored: Vec<&str> = words
        .filter(|(is_equal, _)| *is_equal)
        .map(|(_, word)| word)
        .collect();
    if ignored.is_empty() {
        "ignores nothing".to_owned()
    } else {
        format!("ignores {}", ignored.join(", "))
    }
}

/// Sets the mode in the session under test, which keeps it.
pub(super) fn probe_mode(stage: &mut Stage<'_>, value: &str) -> Result<CalibratedEntry, Halt> {
    let dialect = stage.server.dialect();
    let variable = dialect
        .session_mode
        .as_ref()
        .map(|mode| mode.variable.clone());
    let variable = variable.unwrap_or_default();
    let sql = dialect.set_variable(&variable, value);
    let (measured, proof) = match stage.tested.run(&sql)? {
        Outcome::Rejected(error) => (error.message, Proof::Wrong),
        Outcome::Rows(_) | Outcome::Affected(_) => ("accepted".to_owned(), Proof::Right),
    };
    let subject = format!("{MODE}.{variable}");
    let entry = CalibratedEntry::new(subject, sql, "accepted".to_owned(), proof);
    Ok(entry.measured(measured))
}
