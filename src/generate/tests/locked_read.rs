//! Writes that meet what a locking read of a rarer form has locked.

use std::collections::BTreeMap;

use super::frequency::cases_of;
use crate::generate::Generated;
use crate::model::CaseStatement;

/// For each form of these reads: how often another session writes a table that one reads, while its transaction is open.
fn met(cases: &[Generated]) -> BTreeMap<String, usize> {
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    for generated in cases {
        let statements = &generated.case.statements;
        for (at, read) in statements.iter().enumerate() {
            let labels = &generated.productions[&read.id];
            let form = labels
                .iter()
                .find(|label| label.starts_with("rare-locking-select#"));
            let Some(form) = form else {
                continue;
            };
            let meets = while_open(statements, at).any(|other| writes_what(other, read));
            *met.entry(form.to_string()).or_default() += usize::from(meets);
        }
    }
    met
}

/// The statements of other sessions before a transaction ends.
fn while_open(statements: &[CaseStatement], at: usize) -> impl Iterator<Item = &CaseStatement> {
    let own = statements[at].session;
    let behind = statements[at + 1..].iter();
    behind
        .take_while(move |s| s.session != own || !s.effect.kind.is_end())
        .filter(move |s| s.session != own)
}

fn writes_what(write: &CaseStatement, read: &CaseStatement) -> bool {
    let mut targets = write.effect.counted_targets();
    targets.any(|target| read.effect.uses.iter().any(|used| used.table == target))
}

#[test]
fn every_rarer_form_of_a_locking_read_is_met_by_writes_of_other_sessions() {
    for (engine, forms) in [("mariadb", 6), ("mysql", 6), ("postgres", 3)] {
        let met = met(&cases_of(engine, 600).0);
        assert_eq!(met.len(), forms, "{engine}: {met:?}");
        assert!(met.values().all(|count| *count >= 8), "{engine}: {met:?}");
    }
    assert!(met(&cases_of("sqlite", 100).0).is_empty());
}
