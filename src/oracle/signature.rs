//! Parts of signatures that all oracles share: levels, and what distinguishes statements.

use std::collections::BTreeSet;

use crate::model::{CaseStatement, TableShape, TestCase};

/// The oracles that run one statement alone on its view and word what differs alike.
const BY_STATEMENT: [&str; 2] = ["txcheck", "troc"];

/// Whether the findings of two oracles look alike, so that what explains the one explains the other.
pub fn tell_alike(one: &str, other: &str) -> bool {
    one == other || (BY_STATEMENT.contains(&one) && BY_STATEMENT.contains(&other))
}

/// The levels of a case as signatures name them: run, and claimed where that is stronger.
pub(super) fn finding_levels(case: &TestCase) -> Vec<String> {
    let levels: BTreeSet<String> = case
        .sessions()
        .into_iter()
        .map(|session| {
            let (run, judged) = (case.level(session), case.judged_level(session));
            if run == judged {
                run.to_string()
            } else {
                format!("{run} claimed {judged}")
            }
        })
        .collect();
    levels.into_iter().collect()
}

/// Syntactic features of a statement, and of the tables it names, that distinguish findings, because
/// engines special-case them.
pub(super) fn form_features(case: &TestCase, statement: &CaseStatement) -> Vec<String> {
    let effect = &statement.effect;
    let tables = || effect.uses.iter().filter_map(|u| case.table(&u.table));
    [
        ("nowait", effect.nowait),
        ("order-by", effect.sorted),
        ("limit", effect.limited),
        ("partitioned", tables().any(|table| table.partitioned)),
        (
            "indexed-generated-column",
            tables().any(TableShape::indexes_generated_column),
        ),
    ]
    .into_iter()
    .filter(|(_, holds)| *holds)
    .map(|(name, _)| name.to_owned())
    .collect()
}
