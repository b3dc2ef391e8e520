//! Two transactions as one: a cycle over three of them is often one over two.

use crate::dialect::Dialect;
use crate::minimize::draft::{Draft, DraftLine};
use crate::minimize::search::{Minimization, MinimizationOver};
use crate::model::{StatementKind, TransactionId};
use crate::statement;

pub(super) struct JoinedTransactions;

impl super::Pass for JoinedTransactions {
    fn name(&self) -> &'static str {
        "joined transactions"
    }

    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
        while transactions(search.best()).len() > 2 && join_any(search)? {}
        Ok(())
    }
}

/// The transactions of a draft, but for settings that stand alone: they would make a BEGIN and a COMMIT of
/// nothing.
fn transactions(draft: &Draft) -> Vec<TransactionId> {
    let sets = |of: TransactionId| {
        let mut own = draft.lines.iter().filter(|line| line.transaction == of);
        own.all(|line| line.effect.kind == StatementKind::Set)
    };
    let mut all = draft.transactions();
    all.retain(|transaction| !sets(*transaction));
    all
}

/// Tries every ordered pair; whether one of them could be joined.
fn join_any(search: &mut Minimization<'_>) -> Result<bool, MinimizationOver> {
    let all = transactions(search.best());
    for into in &all {
        for other in all.iter().filter(|other| *other != into) {
            for end in [JoinEnd::Early, JoinEnd::Late] {
                let joined = joined(search.best(), *into, *other, end, search.dialect());
                if let Some(joined) = joined
                    && search.try_draft(joined)?
                {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// Where the joined transaction ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JoinEnd {
    /// Right after its last statement.
    Early,
    /// Where the later of the two ended.
    Late,
}

/// The case in which the first transaction does what the second did, too, at the same places of
/// the schedule and in the first one's session. None where that session is in the middle of
/// another transaction, or where one of the two takes all back: it commits what the other did.
fn joined(
    draft: &Draft,
    into: TransactionId,
    other: TransactionId,
    end: JoinEnd,
    dialect: &Dialect,
) -> Option<Draft> {
    let ours = |line: &DraftLine| line.transaction == into || line.transaction == other;
    let session = draft
        .lines
        .iter()
        .find(|line| line.transaction == into)?
        .session;
    let first = draft.lines.iter().position(ours)?;
    let last = draft.lines.iter().rposition(ours)?;
    let last_inner = draft.lines.iter().rposition(|l| ours(l) && !l.is_edge())?;
    let in_the_way = draft.lines[first..=last].iter().any(|line| {
        !ours(line) && line.session == session
            || ours(line) && line.effect.kind == StatementKind::Rollback
    });
    if in_the_way {
        return None;
    }
    let own_edge = |of: TransactionId, wanted: fn(StatementKind) -> bool| {
        let found = |line: &&DraftLine| line.transaction == of && wanted(line.effect.kind);
        draft.lines.iter().find(found).map(|line| line.sql.clone())
    };
    let edge_line = |wanted: fn(StatementKind) -> bool, plain: &str| {
        let sql = own_edge(into, wanted).or_else(|| own_edge(other, wanted));
        let sql = sql.unwrap_or_else(|| plain.to_owned());
        DraftLine {
            session,
            effect: statement::analyze(&sql, dialect),
            sql,
            transaction: into,
            is_named: false,
        }
    };
    let at = if end == JoinEnd::Early {
        last_inner
    } else {
        last
    };
    let mut lines = Vec::with_capacity(draft.lines.len() + 2);
    for (number, line) in draft.lines.iter().enumerate() {
        if number == first {
            lines.push(edge_line(StatementKind::is_begin, "BEGIN"));
        }
        if !ours(line) {
            lines.push(line.clone());
        } else if !line.is_edge() {
            lines.push(DraftLine {
                session,
                transaction: into,
                ..line.clone()
            });
        }
        if number == at {
            lines.push(edge_line(StatementKind::is_end, "COMMIT"));
        }
    }
    Some(draft.with(lines))
}
