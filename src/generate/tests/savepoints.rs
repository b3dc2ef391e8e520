//! Savepoints that are drawn: nested, set again, returned to, released, and named when they are gone.

use std::collections::{BTreeMap, BTreeSet};

use super::frequency::{CASES, cases_of};
use super::parts;
use crate::dialect::EqualSavepoints;
use crate::model::{CaseStatement, StatementKind, TransactionId};

/// The savepoints of a case, played as the engine does.
#[derive(Debug, Default, PartialEq, Eq)]
struct Savepoints {
    set: usize,
    /// Set while another one was open.
    nested: usize,
    /// Set under a name that was open.
    again: usize,
    returned: usize,
    /// Returned past another open one.
    passing: usize,
    released: usize,
    /// Named one that was not open.
    missing: usize,
    /// Named one whose name was gone, and the older one of that name.
    outer: usize,
    /// Undid a write.
    undoing: usize,
    /// Undid less than a return to the savepoint below would have.
    telling: usize,
}

/// The open savepoints of a transaction with the writes since each, and names that it has released.
type OpenAndReleased<'n> = (Vec<(&'n str, usize)>, BTreeSet<&'n str>);

impl Savepoints {
    fn play(&mut self, statements: &[CaseStatement], equal: EqualSavepoints) {
        // Of each transaction the open savepoints and the writes since each, and the names that it has released.
        let mut open: BTreeMap<TransactionId, OpenAndReleased<'_>> = BTreeMap::new();
        for statement in statements {
            let (stack, released) = open.entry(statement.id.transaction).or_default();
            if statement.effect.kind.is_write() {
                stack.iter_mut().for_each(|(_, writes)| *writes += 1);
            }
            let Some(name) = statement.effect.savepoint.as_deref() else {
                continue;
            };
            let at = stack.iter().rposition(|(other, _)| *other == name);
            if statement.effect.kind == StatementKind::Savepoint {
                self.set += 1;
                self.nested += usize::from(!stack.is_empty());
                self.again += usize::from(at.is_some());
                if let (Some(at), EqualSavepoints::Replace) = (at, equal) {
                    stack.remove(at);
                }
                stack.push((name, 0));
                released.remove(name);
                continue;
            }
            let Some(at) = at else {
                self.missing += 1;
                continue;
            };
            self.outer += usize::from(released.contains(name));
            if statement.effect.kind == StatementKind::RollbackTo {
                self.returned += 1;
                self.passing += usize::from(at + 1 < stack.len());
                self.undoing += usize::from(stack[at].1 > 0);
                self.telling += usize::from(at > 0 && stack[at - 1].1 > stack[at].1);
                stack.truncate(at + 1);
                stack[at].1 = 0;
            } else {
                self.released += 1;
                released.insert(name);
                stack.truncate(at);
            }
        }
    }
}

#[test]
fn savepoints_are_nested_set_again_returned_to_and_released() {
    for engine in ["mariadb", "mysql", "sqlite"] {
        let equal = parts(engine).1.equal_savepoints;
        let mut counts = Savepoints::default();
        for generated in cases_of(engine, 2 * CASES) {
            counts.play(&generated.case.statements, equal);
        }
        // In 300 cases of seed 5 it used to be 56 set, 1 returned to and 2 released on MariaDB and MySQL.
        assert!(counts.set >= 1120, "{engine}: {counts:?}");
        assert!(counts.nested >= 400, "{engine}: {counts:?}");
        assert!(counts.again >= 120, "{engine}: {counts:?}");
        assert!(counts.returned >= 300, "{engine}: {counts:?}");
        assert!(counts.passing >= 20, "{engine}: {counts:?}");
        assert!(counts.undoing >= 120, "{engine}: {counts:?}");
        assert!(counts.telling >= 30, "{engine}: {counts:?}");
        assert!(counts.released >= 80, "{engine}: {counts:?}");
        assert!(counts.missing >= 60, "{engine}: {counts:?}");
    }
}

/// Where equal names nest, a name that was released may still be that of an older savepoint. Where it is not, an error fails
/// the transaction, which is drawn seldom.
#[test]
fn savepoints_that_are_gone_are_named_seldom_where_an_error_fails_the_transaction() {
    let equal = parts("postgres").1.equal_savepoints;
    let mut counts = Savepoints::default();
    for generated in cases_of("postgres", CASES) {
        counts.play(&generated.case.statements, equal);
    }
    assert!((5..=40).contains(&counts.missing), "{counts:?}");
    assert!(counts.outer >= 3, "{counts:?}");
}
