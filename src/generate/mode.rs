//! Sessions whose statements mean something else than those of the others: a strict mode beside one that changes
//! values until they fit.

use super::entropy::Entropy;
use super::session::{DrawnStatement, sessions_up_to};
use crate::dialect::Dialect;

/// In how many sessions, of a hundred, of a case with modes there is one.
const MODE_PERCENT: usize = 65;

/// The modes that sessions choose, before everything else; none in most cases.
pub(super) fn modes(
    entropy: &mut Entropy<'_>,
    percent: usize,
    sessions: usize,
    dialect: &Dialect,
) -> Vec<DrawnStatement> {
    let Some(mode) = dialect.session_mode.as_ref() else {
        return Vec::new();
    };
    if !entropy.percent(percent) {
        return Vec::new();
    }
    let mut lines = Vec::new();
    for session in sessions_up_to(sessions) {
        let value = entropy.pick(&mode.others);
        if let Some(value) = value.filter(|_| entropy.percent(MODE_PERCENT)) {
            let sql = dialect.set_variable(&mode.variable, value);
            lines.push(DrawnStatement::outside(session, sql, dialect));
        }
    }
    lines
}
