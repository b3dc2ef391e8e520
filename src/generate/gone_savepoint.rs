//! ROLLBACK TO and RELEASE that name a savepoint which is gone: released, dropped by a return to an older one, or
//! replaced by one of the same name that is gone itself.
//!
//! Drawn one by one, statements name open savepoints alone, so that a RELEASE that forgets none shows nowhere. The engine
//! must refuse the name; where equal names nest, and an older one of the name is open, it means that one.

use super::entropy::Entropy;
use super::session::DrawnStatement;
use crate::dialect::{Capability, Dialect, EqualSavepoints};
use crate::model::StatementKind;

/// How many of these statements, of a hundred, go back; the others release.
const RETURN_PERCENT: usize = 75;

/// In how many cases, of a hundred, such a statement may fail its transaction, where errors do: what the transaction has done
/// is lost then.
const FAILING_PERCENT: usize = 35;

/// A line before which the transaction of its session can name a savepoint that is gone.
#[derive(Debug, PartialEq, Eq)]
struct GonePlace {
    at: usize,
    name: String,
    /// An older savepoint of the name is open.
    is_open: bool,
    /// The line ends the transaction.
    is_last: bool,
}

/// Puts such a statement into some cases that have a place for it.
pub(super) fn add_gone_savepoint(
    entropy: &mut Entropy<'_>,
    percent: usize,
    lines: &mut Vec<DrawnStatement>,
    dialect: &Dialect,
) {
    if !entropy.percent(percent) {
        return;
    }
    let may_fail =
        !dialect.supports(Capability::FailedTransaction) || entropy.percent(FAILING_PERCENT);
    let mut places = gone_places(lines, dialect.equal_savepoints);
    places.retain(|place| place.is_open || may_fail);
    if dialect.supports(Capability::FailedTransaction) {
        // A failed transaction does nothing more.
        places.retain(|place| place.is_open || place.is_last);
    }
    let Some(place) = entropy.pick(&places) else {
        return;
    };
    let verb = match entropy.percent(RETURN_PERCENT) {
        true => "ROLLBACK TO",
        false => "RELEASE",
    };
    let sql = format!("{verb} SAVEPOINT {}", place.name);
    let line = DrawnStatement::inside(lines[place.at].session, sql, dialect);
    lines.insert(place.at, line);
}

fn gone_places(lines: &[DrawnStatement], equal: EqualSavepoints) -> Vec<GonePlace> {
    let begins = (0..lines.len()).filter(|at| lines[*at].effect.kind.is_begin());
    begins
        .flat_map(|at| of_transaction(lines, at, equal))
        .collect()
}

/// The places of the transaction that begins at a line.
fn of_transaction(
    lines: &[DrawnStatement],
    begin: usize,
    equal: EqualSavepoints,
) -> Vec<GonePlace> {
    let (mut open, mut gone): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut places = Vec::new();
    for (at, line) in lines.iter().enumerate().skip(begin + 1) {
        if line.session != lines[begin].session {
            continue;
        }
        let is_last = line.effect.kind.is_end();
        places.extend(gone.iter().map(|name| GonePlace {
            at,
            name: (*name).to_owned(),
            is_open: open.contains(name),
            is_last,
        }));
        if is_last || !line.is_inside() {
            break;
        }
        let Some(name) = line.effect.savepoint.as_deref() else {
            continue;
        };
        let newest = open.iter().rposition(|other| *other == name);
        match (line.effect.kind, newest) {
            (StatementKind::Savepoint, _) => {
                gone.retain(|other| *other != name);
                if equal == EqualSavepoints::Replace {
                    open.retain(|other| *other != name);
                }
                open.push(name);
            }
            (StatementKind::ReleaseSavepoint, Some(newest)) => gone.extend(open.drain(newest..)),
            (_, Some(newest)) => gone.extend(open.drain(newest + 1..)),
            (_, None) => {}
        }
    }
    places
}
