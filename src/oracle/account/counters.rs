//! Counters that fill a column: a number that was given once is never given again, and a statement that is sent after
//! another was answered takes greater ones, whatever became of the first; and the answer names the first that a statement
//! took (MySQL manual, "AUTO_INCREMENT Handling in InnoDB": "unique and monotonically increasing"; values of a transaction that was rolled back "are lost";
//! "Information Functions", `LAST_INSERT_ID()`: "the first automatically generated value successfully inserted").

use std::ops::RangeInclusive;

use super::super::Evidence;
use super::super::counted::{counted_insert, first_told, put_in};
use super::transactions::Strangeness;
use crate::dialect::Capability;
use crate::model::{CaseStatement, FindingKind, Setting, StatementKind, StatementRecord};
use crate::statement::{CountedInsert, Counting, Filling, Returned};

/// Numbers that a statement took.
struct Taken<'e> {
    table: &'e str,
    record: &'e StatementRecord,
    numbers: RangeInclusive<i64>,
}

/// The first answer that does not name the first of the numbers that the rows of its statement got. Only of statements each
/// of whose rows takes one and is known.
pub(super) fn mistold(evidence: &Evidence) -> Option<Strangeness> {
    let account = &evidence.account;
    let is_told = evidence.dialect.supports(Capability::AutoIncrement) && account.gap.is_none();
    let mut statements = evidence.case.user_statements().filter(|_| is_told);
    statements.find_map(|statement| {
        let (table, insert) = counted_insert(&evidence.case, statement, &evidence.dialect)?;
        let record = evidence.execution.records.get(&statement.id)?;
        let changed = record.outcome.row_count()?;
        let is_plain = insert.returns == Returned::Nothing && !insert.updates && !insert.ignores;
        let count = usize::try_from(count(&insert, changed).filter(|_| is_plain)?).ok()?;
        let made = put_in(evidence, record.id, table);
        let first = *made.first().filter(|_| made.len() == count)?;
        let is_wrong = record.counted != Some(first) && !account.unsure.contains_key(&record.id);
        let told = |number: i64| format!("{number} as the number of its first row");
        is_wrong.then(|| Strangeness {
            kind: FindingKind::MistoldNumber,
            statement: record.id,
            expected: told(first),
            got: record.counted.map_or("no number".to_owned(), told),
        })
    })
}

/// The first statement that took a number from a counter which had given it, or a greater one, before.
pub(super) fn given_again(evidence: &Evidence) -> Option<Strangeness> {
    let (case, execution) = (&evidence.case, &evidence.execution);
    let mut effects = case.statements.iter().map(|s| &s.effect);
    let moves_counters = effects.any(|effect| {
        effect.kind == StatementKind::Opaque || effect.setting == Some(Setting::Other)
    });
    // A counter whose number was on its way to the disk may go back when the server is killed.
    if moves_counters
        || execution.crash.is_some()
        || !evidence.dialect.supports(Capability::AutoIncrement)
    {
        return None;
    }
    let mut all: Vec<Taken<'_>> = case
        .user_statements()
        .filter_map(|statement| taken(evidence, statement))
        .collect();
    all.sort_by_key(|taken| taken.record.answered);
    all.iter().enumerate().find_map(|(at, later)| {
        let before = all[..at]
            .iter()
            .filter(|earlier| earlier.table == later.table);
        let mut before = before.filter(|earlier| goes_back(earlier, later));
        before.next().map(|earlier| Strangeness {
            kind: FindingKind::NumberGivenAgain,
            statement: later.record.id,
            expected: format!(
                "numbers beyond {} from the counter of {}, because {} took {}",
                earlier.numbers.end(),
                later.table,
                earlier.record.id,
                shown(&earlier.numbers)
            ),
            got: shown(&later.numbers),
        })
    })
}

/// Whether the counter gave the later statement a number that it had given; or, where that one was sent when the
/// other was answered, one below.
fn goes_back(earlier: &Taken<'_>, later: &Taken<'_>) -> bool {
    let meet = earlier.numbers.start() <= later.numbers.end()
        && later.numbers.start() <= earlier.numbers.end();
    let follows = later.record.sent > earlier.record.answered;
    meet || (follows && later.numbers.start() <= earlier.numbers.end())
}

fn shown(numbers: &RangeInclusive<i64>) -> String {
    match numbers.start() == numbers.end() {
        true => numbers.start().to_string(),
        false => format!("{} to {}", numbers.start(), numbers.end()),
    }
}

/// The numbers that a statement is known to have taken; the first one at least, where it took some.
fn taken<'e>(evidence: &'e Evidence, statement: &CaseStatement) -> Option<Taken<'e>> {
    let (table, insert) = counted_insert(&evidence.case, statement, &evidence.dialect)?;
    let record = evidence.execution.records.get(&statement.id)?;
    let changed = record.outcome.row_count()?;
    let first = first_told(evidence, table, record, &insert)?;
    let count = count(&insert, changed)?;
    Some(Taken {
        table: &table.name,
        record,
        numbers: first..=first.saturating_add(count.saturating_sub(1)),
    })
}

/// How many numbers follow the first one for sure; none where the answer may name another number than one that the
/// counter gave.
fn count(insert: &CountedInsert, changed: u64) -> Option<i64> {
    let Counting::Rows(rows) = &insert.counting else {
        return None;
    };
    let counted = rows.iter().filter(|row| **row == Filling::Counted).count();
    if changed == 0 || counted < rows.len() {
        return None;
    }
    if insert.updates {
        // A row that was put in counts as 1; of a row that was changed the answer names the number.
        return (counted == 1 && changed == 1).then_some(1);
    }
    match insert.ignores {
        true => Some(1),
        false => i64::try_from(counted).ok(),
    }
}
