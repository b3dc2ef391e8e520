//! Whole transactions: most findings need two.

use std::collections::BTreeSet;

use crate::minimize::draft::Draft;
use crate::minimize::search::{Search, Stop};
use crate::model::TransactionId;

pub(super) struct Transactions;

impl super::Pass for Transactions {
    fn name(&self) -> &'static str {
        "transactions"
    }

    fn run(&self, search: &mut Search<'_>) -> Result<(), Stop> {
        let all = search.best().transactions();
        if all.len() > 2 {
            for (index, first) in all.iter().enumerate() {
                for second in &all[index + 1..] {
                    let pair = search
                        .best()
                        .with_lines(|_, line| [*first, *second].contains(&line.transaction));
                    if search.try_draft(pair)? {
                        return remove(search);
                    }
                }
            }
        }
        remove(search)
    }
}

fn remove(search: &mut Search<'_>) -> Result<(), Stop> {
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
