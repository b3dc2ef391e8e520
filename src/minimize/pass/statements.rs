//! Single statements, then the BEGIN and COMMIT around one that is left alone.

use std::collections::BTreeSet;

use crate::minimize::draft::{Draft, DraftLine};
use crate::minimize::search::{Minimization, MinimizationOver};
use crate::model::TransactionId;

pub(super) struct Statements;

impl super::Pass for Statements {
    fn name(&self) -> &'static str {
        "statements"
    }

    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
        search.remove(
            |draft| inner(draft).len(),
            |draft, gone| {
                let inner = inner(draft);
                let gone: BTreeSet<usize> = gone.iter().map(|index| inner[*index]).collect();
                Some(draft.with_lines(|number, _| !gone.contains(&number)))
            },
        )?;
        for transaction in search.best().transactions() {
            let candidate = bare(search.best(), transaction);
            if let Some(candidate) = candidate {
                search.try_draft(candidate)?;
            }
        }
        Ok(())
    }
}

/// Every line that opens or ends no transaction.
fn inner(draft: &Draft) -> Vec<usize> {
    draft
        .lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.is_edge())
        .map(|(number, _)| number)
        .collect()
}

/// The transaction as one statement in autocommit, or gone when nothing is left of it.
fn bare(draft: &Draft, transaction: TransactionId) -> Option<Draft> {
    let own: Vec<&DraftLine> = draft
        .lines
        .iter()
        .filter(|line| line.transaction == transaction)
        .collect();
    let left = own.iter().filter(|line| !line.is_edge()).count();
    (own.len() > left && left <= 1)
        .then(|| draft.with_lines(|_, line| line.transaction != transaction || !line.is_edge()))
}
