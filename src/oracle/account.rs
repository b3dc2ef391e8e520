//! What the record of a run says against the engine by itself, before anything is predicted: refusals
//! without a cause, transactions that end or go on against their answers, savepoints lost, changes that no statement
//! made, writes that count other rows than they changed. `docs/oracle-account.md` is its page.

mod beside;
mod circle;
mod counters;
mod failed;
mod refused_control;
mod savepoints;
mod session_locks;
mod shared_tables;
mod tags;
#[cfg(test)]
mod tests;
mod transactions;
mod unrefused_commit;
mod waiting;

use std::collections::BTreeSet;

use self::transactions::Strangeness;
use super::Evidence;
use super::compare::rows_text;
use super::evidence::{Miscount, Standing};
use super::refusal::unrepeatable_set_up;
use super::signature::{
    AFTER_WAITING_CASCADE, WAITING_CASCADE, differs, finding_levels, follows_waiting_cascade,
    form_features, is_waiting_cascade,
};
use super::view::{miscounts, overwritten_unseen, standings, written_over_uncounted};
use crate::dialect::ChangedRows;
use crate::model::{
    Aspect, Difference, Direction, Finding, FindingKind, Outcome, ProbeTag, RESUMED, Signature,
    StatementId, UndecidedReason,
};
use crate::observe::MistoldRow;
use crate::statement;

/// The name under which these findings are told.
pub(super) const ACCOUNT: &str = "account";

/// What is wrong with the way in which transactions were refused or ended.
pub(super) fn of_transactions(evidence: &Evidence) -> Option<Finding> {
    let strange = transactions::strangeness(evidence)
        .or_else(|| failed::strangeness(evidence))
        .or_else(|| tags::strangeness(evidence))
        .or_else(|| savepoints::strangeness(evidence))
        .or_else(|| refused_control::strangeness(evidence))
        .or_else(|| counters::given_again(evidence))?;
    Some(finding_of(evidence, strange))
}

/// What is wrong with the numbers that answers name, of a run whose changes are known. What a statement does when it is run
/// again rests on its number, so that it comes before what oracles predict.
pub(super) fn of_numbers(evidence: &Evidence) -> Option<Finding> {
    let strange = counters::mistold(evidence)?;
    Some(finding_of(evidence, strange))
}

fn finding_of(evidence: &Evidence, strange: Strangeness) -> Finding {
    let Strangeness {
        kind,
        statement,
        expected,
        got,
    } = strange;
    let aspect = match kind == FindingKind::NumberGivenAgain {
        true => Aspect::Effect,
        false => Aspect::Error,
    };
    let difference = Difference {
        statement: Some(statement),
        aspect,
        direction: Direction::Other,
        expected,
        got,
    };
    finding(evidence, kind, difference, Vec::new())
}

/// The statements that were refused as they had to be, or as they could be: because their transactions had failed, or to
/// be tried again after another session's write.
pub(super) fn rightly_refused(evidence: &Evidence) -> BTreeSet<StatementId> {
    let mut refused = failed::rightly_refused(evidence);
    refused.extend(transactions::told_to_try_again(evidence));
    refused
}

/// What is wrong with the changes that were seen. For a run of which no oracle found more: an oracle
/// that predicts says what should have happened.
pub(super) fn of_changes(evidence: &Evidence) -> Option<Finding> {
    if let Some(finding) = returned_otherwise(evidence) {
        return Some(finding);
    }
    if ran_opaque_statement(evidence)
        || statement::has_unknown_trigger(&evidence.case, &evidence.dialect)
    {
        return None;
    }
    // A row names its writer by itself, whatever else is known of the run.
    mistold_row(evidence, |mistold| mistold.returned.is_none())
        .or_else(|| of_known_changes(evidence))
        .or_else(|| {
            let strange = unrefused_commit::strangeness(evidence)?;
            Some(finding_of(evidence, strange))
        })
        // The rows of the set-up are known from another database.
        .filter(|_| unrepeatable_set_up(&evidence.case, &evidence.dialect).is_none())
}

/// A write whose answer counts other rows than came with it. The answer itself says both, so that nothing
/// that was learned of the run can excuse it.
fn returned_otherwise(evidence: &Evidence) -> Option<Finding> {
    let execution = &evidence.execution;
    let asked = execution.probes.iter().filter_map(|probe| {
        let is_of_write = matches!(probe.tag, ProbeTag::Returned { .. });
        let returned = probe.outcome.row_count().filter(|_| is_of_write)?;
        Some((probe.statement, returned))
    });
    let own = evidence.case.user_statements().filter_map(|statement| {
        let record = execution.records.get(&statement.id)?;
        let returns = matches!(record.outcome, Outcome::Rows(_));
        let is_write = statement.effect.kind.is_write();
        let returned = record.outcome.row_count().filter(|_| returns && is_write)?;
        Some((statement.id, returned))
    });
    asked.chain(own).find_map(|(write, returned)| {
        let reported = execution.records.get(&write)?.reported?;
        let difference = Difference {
            statement: Some(write),
            aspect: Aspect::Affected,
            direction: if reported < returned {
                Direction::Lower
            } else {
                Direction::Higher
            },
            expected: format!("affected {returned}, as many rows as it returned"),
            got: Outcome::Affected(reported).to_string(),
        };
        let kind = FindingKind::MiscountedWrite;
        let sent = sent_as(evidence, write);
        (reported != returned).then(|| finding(evidence, kind, difference, sent))
    })
}

fn of_known_changes(evidence: &Evidence) -> Option<Finding> {
    // A version may be missing too where one was written over unseen.
    let has_gaps = evidence.account.gap.is_some()
        || !overwritten_unseen(evidence).is_empty()
        || written_over_uncounted(evidence);
    if has_gaps {
        return None;
    }
    let changed = unexplained_change(evidence).or_else(|| mistold_row(evidence, |_| true));
    changed.or_else(|| {
        let all = miscounts(evidence);
        let sure = |miscount: &&Miscount| {
            let unsure = &evidence.account.unsure;
            miscount.hidden_among.is_empty() && !unsure.contains_key(&miscount.statement)
        };
        all.iter()
            .find(sure)
            .map(|miscount| miscounted(evidence, miscount))
    })
}

/// A change without a writer. Probes see rows in the mode of their statement, those of others
/// included: only what was read beside the sessions counts.
fn unexplained_change(evidence: &Evidence) -> Option<Finding> {
    let account = &evidence.account;
    let mut probes = evidence.execution.probes.iter();
    let is_probed = probes.any(|probe| probe.tag.reads_for_a_statement());
    let first = account.unexplained.first().filter(|_| !is_probed)?;
    let difference = Difference {
        statement: None,
        aspect: Aspect::Effect,
        direction: Direction::Changed,
        expected: "no change".to_owned(),
        got: first.clone(),
    };
    let explanation = account.unexplained[1..].to_vec();
    Some(finding(
        evidence,
        FindingKind::UnexplainedChange,
        difference,
        explanation,
    ))
}

/// A write that did not return a row as it changed it.
fn mistold_row(evidence: &Evidence, fits: impl Fn(&MistoldRow) -> bool) -> Option<Finding> {
    let first = evidence
        .account
        .mistold
        .iter()
        .find(|mistold| fits(mistold))?;
    let text = |row| format!("{}: {}", first.table, rows_text(std::slice::from_ref(row)));
    let difference = Difference {
        statement: Some(first.statement),
        aspect: Aspect::Rows,
        direction: match first.returned {
            Some(_) => Direction::Changed,
            None => Direction::Lost,
        },
        expected: format!("{} returned", text(&first.row)),
        got: first
            .returned
            .as_ref()
            .map_or("not returned".to_owned(), |row| {
                format!("{} returned", text(row))
            }),
    };
    let kind = FindingKind::Wrong(Aspect::Rows);
    let sent = sent_as(evidence, first.statement);
    Some(finding(evidence, kind, difference, sent))
}

/// The text of a write that was made to return its rows, for people: the case file has it without.
fn sent_as(evidence: &Evidence, write: StatementId) -> Vec<String> {
    let probes = evidence.execution.probes.iter();
    let returned = probes.filter(|probe| matches!(probe.tag, ProbeTag::Returned { .. }));
    let of_it = returned.filter(|probe| probe.statement == write);
    of_it
        .map(|probe| format!("{write} was sent as {}", probe.sql))
        .collect()
}

fn miscounted(evidence: &Evidence, miscount: &Miscount) -> Finding {
    let ChangedRows { new, gone, other } = miscount.changed;
    let changed = new + gone + other;
    let difference = Difference {
        statement: Some(miscount.statement),
        aspect: Aspect::Affected,
        direction: if miscount.answered < changed {
            Direction::Lower
        } else {
            Direction::Higher
        },
        expected: format!("the count of {new} new, {gone} deleted and {other} changed rows"),
        got: Outcome::Affected(miscount.answered).to_string(),
    };
    let rows = evidence.account.changes.get(&miscount.statement);
    let explanation = rows.into_iter().flatten().map(|change| {
        let show = |version| {
            let row = evidence.account.chains.row(version);
            row.map_or("no row".to_owned(), |row| {
                rows_text(std::slice::from_ref(row))
            })
        };
        let before = change.before.map_or("no row".to_owned(), show);
        format!("{}: {before} became {}", change.table, show(change.after))
    });
    let explanation = explanation.collect();
    finding(
        evidence,
        FindingKind::MiscountedWrite,
        difference,
        explanation,
    )
}

fn finding(
    evidence: &Evidence,
    kind: FindingKind,
    difference: Difference,
    explanation: Vec<String>,
) -> Finding {
    let case = &evidence.case;
    let statement = difference.statement.and_then(|id| case.statement(id));
    let mut features = statement.map_or(BTreeSet::new(), |s| form_features(evidence, s));
    if kind == FindingKind::MiscountedWrite {
        features.insert(differs(difference.direction));
    }
    let record = statement.and_then(|s| evidence.execution.records.get(&s.id));
    if record.is_some_and(|record| record.resumed()) {
        features.insert(RESUMED.to_owned());
    }
    if let Some(class) = record.and_then(|record| record.outcome.error_class()) {
        features.insert(format!("error:{class}"));
    }
    if let Some(statement) = statement.filter(|_| kind == FindingKind::WrongTransactionEnd) {
        let cascades = [
            (WAITING_CASCADE, is_waiting_cascade(evidence, statement)),
            (
                AFTER_WAITING_CASCADE,
                follows_waiting_cascade(evidence, statement),
            ),
        ];
        let cascades = cascades.into_iter().filter(|(_, holds)| *holds);
        features.extend(cascades.map(|(word, _)| word.to_owned()));
    }
    Finding {
        signature: Signature::new(
            ACCOUNT,
            kind,
            finding_levels(case),
            features.into_iter().collect(),
        ),
        headline: format!("{kind}: {difference}"),
        differences: vec![difference],
        explanation,
    }
}

/// Whether a statement ran of which only the engine knows what it writes.
fn ran_opaque_statement(evidence: &Evidence) -> bool {
    let opaque = Standing::Skipped(UndecidedReason::OpaqueStatement);
    standings(evidence).iter().any(|(id, standing)| {
        let record = evidence.execution.records.get(id);
        *standing == opaque && record.is_some_and(|record| record.outcome.error_class().is_none())
    })
}
