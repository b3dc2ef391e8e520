//! One transaction fewer, in another schedule: a third one may only have held a lock until what
//! waited for it came at the right moment.

use super::schedule::moves;
use crate::minimize::search::{Minimization, MinimizationOver};

pub(super) struct Rescheduled;

/// Cases of more lines are left to the coarser passes first: there are about as many candidates
/// as lines, for each transaction.
const LINES_MAX: usize = 16;

impl super::Pass for Rescheduled {
    fn name(&self) -> &'static str {
        "rescheduled"
    }

    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
        while search.best().transactions().len() > 2
            && search.best().lines.len() <= LINES_MAX
            && remove_any(search)?
        {}
        Ok(())
    }
}

/// Tries every transaction and every move; whether one could go.
fn remove_any(search: &mut Minimization<'_>) -> Result<bool, MinimizationOver> {
    for gone in search.best().transactions() {
        let rest = search.best().with_lines(|_, line| line.transaction != gone);
        for candidate in moves(&rest) {
            if search.try_draft(candidate)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
