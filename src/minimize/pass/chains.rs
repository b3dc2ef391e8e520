//! `COMMIT AND CHAIN` as a COMMIT and a BEGIN: two transactions that other passes can take apart.

use crate::minimize::draft::{Draft, DraftLine};
use crate::minimize::search::{Minimization, MinimizationOver};
use crate::statement;

pub(super) struct Unchained;

impl super::Pass for Unchained {
    fn name(&self) -> &'static str {
        "chains"
    }

    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
        let mut number = 0;
        while number < search.best().lines.len() {
            if let Some(unchained) = unchained(search, number) {
                search.try_draft(unchained)?;
            }
            number += 1;
        }
        Ok(())
    }
}

/// The case with a plain end in place of the one that chains, and behind it the BEGIN by which the chain began; none where the
/// line does not chain.
fn unchained(search: &Minimization<'_>, number: usize) -> Option<Draft> {
    let (draft, dialect) = (search.best(), search.dialect());
    let line = draft.lines.get(number).filter(|line| line.effect.chains)?;
    let is_own = |other: &&DraftLine| other.session == line.session;
    let begins = |other: &&DraftLine| other.effect.kind.is_begin();
    let mut before = draft.lines[..number].iter().filter(is_own);
    let begin = before.rfind(begins)?;
    let next = draft.lines[number + 1..].iter().find(is_own);
    let plain = dialect.spelling.plain_end(line.effect.kind);
    let end = DraftLine {
        sql: plain.to_owned(),
        effect: statement::analyze(plain, dialect),
        ..line.clone()
    };
    let begin = next.map(|next| DraftLine {
        transaction: next.transaction,
        is_named: false,
        ..begin.clone()
    });
    let mut lines = draft.lines.clone();
    lines.splice(number..=number, [end].into_iter().chain(begin));
    Some(draft.with(lines))
}
