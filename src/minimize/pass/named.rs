//! The statements that the finding is about, beside one other transaction: of a large case this leaves
//! the least, and most findings need no more.

use std::collections::BTreeSet;

use crate::minimize::draft::Draft;
use crate::minimize::search::{Minimization, MinimizationOver};
use crate::model::TransactionId;

pub(super) struct NamedStatements;

/// Transactions that are tried beside the named statements. Where none of so many will do, the finding needs more.
const OTHERS_MAX: usize = 8;

impl super::Pass for NamedStatements {
    fn name(&self) -> &'static str {
        "named"
    }

    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
        for candidate in candidates(search.best()) {
            if search.try_draft(candidate)? {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// From the small to the large: the named statements alone in their transactions, then these whole, then with all that was
/// open beside the named statements.
fn candidates(draft: &Draft) -> Vec<Draft> {
    let named = draft.lines.iter().filter(|line| line.is_named);
    let own: BTreeSet<TransactionId> = named.map(|line| line.transaction).collect();
    if own.is_empty() {
        return Vec::new();
    }
    let others = beside(draft, &own);
    let mut beside_each: Vec<BTreeSet<TransactionId>> = others
        .iter()
        .take(OTHERS_MAX)
        .map(|other| BTreeSet::from([*other]))
        .collect();
    if own.len() > 1 {
        beside_each.insert(0, BTreeSet::new());
    }
    let bare = beside_each.iter().map(|others| {
        draft.with_lines(|_, line| {
            let is_own = own.contains(&line.transaction);
            (is_own && (line.is_named || line.is_edge())) || others.contains(&line.transaction)
        })
    });
    let all = others.iter().copied().collect();
    let whole = beside_each.iter().chain([&all]).map(|others| {
        draft.with_lines(|_, line| {
            own.contains(&line.transaction) || others.contains(&line.transaction)
        })
    });
    bare.chain(whole).collect()
}

/// The transactions of which lines stand on both sides of a named statement, then the other ones that overlap
/// with its transaction.
fn beside(draft: &Draft, own: &BTreeSet<TransactionId>) -> Vec<TransactionId> {
    let places = |holds: &dyn Fn(usize) -> bool| {
        let mut all = (0..draft.lines.len()).filter(|at| holds(*at));
        let first = all.next();
        first.map(|first| (first, all.next_back().unwrap_or(first)))
    };
    let Some((first, last)) = places(&|at| own.contains(&draft.lines[at].transaction)) else {
        return Vec::new();
    };
    let mut found: Vec<(bool, TransactionId)> = Vec::new();
    for transaction in draft.transactions() {
        let span = places(&|at| draft.lines[at].transaction == transaction);
        let Some((from, to)) = span.filter(|(from, to)| *from < last && *to > first) else {
            continue;
        };
        if !own.contains(&transaction) {
            let spans_named = (from..to).any(|at| draft.lines[at].is_named);
            found.push((!spans_named, transaction));
        }
    }
    found.sort();
    found
        .into_iter()
        .map(|(_, transaction)| transaction)
        .collect()
}
