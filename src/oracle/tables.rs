//! Tables and their indexes at the end of a run: whatever reads a table finds the same rows, and the
//! engine's own check has nothing to say. `docs/oracle-tables.md` says what this may miss.

use std::collections::BTreeSet;

use super::compare;
use super::signature::finding_levels;
use crate::model::{
    Aspect, Difference, Direction, Execution, Finding, FindingKind, Signature, StatementKind,
    TableFault, TestCase,
};

/// The name under which faults of tables are told.
pub const TABLES: &str = "tables";

/// What is wrong with the tables that a run left: an index that disagrees before a complaint of the
/// engine, because it says which rows.
pub fn fault(case: &TestCase, execution: &Execution) -> Option<Finding> {
    let is_index = |fault: &&TableFault| matches!(fault, TableFault::Index { .. });
    let faults = &execution.table_faults;
    let first = faults.iter().find(is_index).or_else(|| faults.first())?;
    let (kind, headline) = told(first);
    Some(Finding {
        signature: Signature::new(
            TABLES,
            kind,
            finding_levels(case),
            features(case, execution, first.table()),
        ),
        headline,
        differences: faults.iter().map(difference).collect(),
        explanation: vec!["no transaction was open when the tables were read".to_owned()],
    })
}

fn told(fault: &TableFault) -> (FindingKind, String) {
    match fault {
        TableFault::Index {
            table,
            index,
            missing,
            extra,
        } => {
            let headline = format!(
                "index {index} of {table} disagrees with a scan: missing {}; extra {}",
                compare::rows_text(missing),
                compare::rows_text(extra)
            );
            (FindingKind::IndexDisagrees, headline)
        }
        TableFault::Check { table, message } => {
            let place = table
                .as_ref()
                .map_or_else(String::new, |t| format!(" of {t}"));
            let headline = format!("the engine's own check{place} fails: {message}");
            (FindingKind::TableCheckFailed, headline)
        }
    }
}

fn difference(fault: &TableFault) -> Difference {
    let (expected, got, direction) = match fault {
        TableFault::Index {
            table,
            index,
            missing,
            extra,
        } => (
            format!("{table}: {}", compare::rows_text(missing)),
            format!("{table} by {index}: {}", compare::rows_text(extra)),
            compare::difference_direction(missing, extra),
        ),
        TableFault::Check { message, .. } => (
            "a sound table".to_owned(),
            message.clone(),
            Direction::Other,
        ),
    };
    Difference {
        statement: None,
        aspect: Aspect::FinalState,
        direction,
        expected,
        got,
    }
}

/// The kinds of the writes to the table, and what of its form engines special-case.
fn features(case: &TestCase, execution: &Execution, table: Option<&str>) -> Vec<String> {
    let writes = case.user_statements().filter(|statement| {
        let concerns = table.is_none_or(|t| statement.effect.targets().any(|target| target == t));
        concerns && execution.records.contains_key(&statement.id)
    });
    let mut features: BTreeSet<String> = writes
        .map(|statement| statement.effect.kind)
        .filter(|kind| kind.is_write() || *kind == StatementKind::Opaque)
        .map(|kind| kind.to_string())
        .collect();
    if let Some(shape) = table.and_then(|table| case.table(table)) {
        let partitioning = shape.partitioning.iter();
        features.extend(partitioning.map(|p| format!("partitioned-by-{}", p.method)));
        features.extend(shape.indexed_generated_columns().map(|column| {
            let storage = if column.stored { "stored" } else { "virtual" };
            format!("indexed-{storage}-column")
        }));
    }
    features.into_iter().collect()
}
