//! Writes that meet what a locking read of a rarer form has locked.

use std::collections::BTreeMap;

use super::beside;
use super::frequency::cases_of;
use crate::generate::Generated;
use crate::model::CaseStatement;

/// For each form of these reads: how often another session writes a table that one reads, while its transaction is open.
fn met(cases: Vec<&Generated>) -> BTreeMap<String, usize> {
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    for generated in cases {
        let statements = &generated.case.statements;
        for read in statements {
            let mut labels = generated.productions[&read.id].iter();
            let Some(form) = labels.find(|label| label.starts_with("rare-locking-select#")) else {
                continue;
            };
            let meets = |at: usize| {
                writes_what(&statements[at], read)
                    && beside(&generated.case, at).any(|open| open.id == read.id)
            };
            *met.entry(form.to_string()).or_default() +=
                usize::from((0..statements.len()).any(meets));
        }
    }
    met
}

fn writes_what(write: &CaseStatement, read: &CaseStatement) -> bool {
    let mut targets = write.effect.counted_targets();
    targets.any(|target| read.effect.uses.iter().any(|used| used.table == target))
}

#[test]
fn every_rarer_form_of_a_locking_read_is_met_by_writes_of_other_sessions() {
    for (engine, forms) in [("mariadb", 6), ("mysql", 6), ("postgres", 3)] {
        let met = met(cases_of(engine, 600));
        assert_eq!(met.len(), forms, "{engine}: {met:?}");
        assert!(met.values().all(|count| *count >= 8), "{engine}: {met:?}");
    }
    assert!(met(cases_of("sqlite", 100)).is_empty());
}
