//! Whole transactions: most findings need two.

use std::collections::BTreeSet;

use crate::minimize::draft::Draft;
use crate::minimize::search::{Minimization, MinimizationOver};
use crate::model::TransactionId;

/// Of so many transactions every pair is tried: 190 candidates, a quarter of the budget.
const PAIRED_MAX: usize = 20;

pub(super) struct Transactions;

impl super::Pass for Transactions {
    fn name(&self) -> &'static str {
        "transactions"
    }

    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
        if search.best().transactions().len() > PAIRED_MAX {
            remove(search)?;
        }
        let all = search.best().transactions();
        if (3..=PAIRED_MAX).contains(&all.len()) {
            try_pairs(search, &all)?;
        }
        remove(search)
    }
}

/// Tries two transactions alone.
fn try_pairs(search: &mut Minimization<'_>, all: &[TransactionId]) -> Result<(), MinimizationOver> {
    for (index, first) in all.iter().enumerate() {
        for second in &all[index + 1..] {
            let pair = search
                .best()
                .with_lines(|_, line| [*first, *second].contains(&line.transaction));
            if search.try_draft(pair)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn remove(search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
    search.remove(
        |draft| draft.transactions().len(),
        |draft, gone| Some(without(draft, gone)),
    )
}

fn without(draft: &Draft, gone: &BTreeSet<usize>) -> Draft {
    let all = draft.transactions();
    let gone: BTreeSet<TransactionId> = gone.iter().map(|index| all[*index]).collect();
    draft.with_lines(|_, line| !gone.contains(&line.transaction))
}
