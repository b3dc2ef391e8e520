//! A read that one release woke with a write of a row that it locks, at a level that looks again.

use super::RC;
use super::script::{Line, Rows, Script};
use crate::model::{Doubt, UndecidedReason, Value};
use crate::observe::{Latitude, RowId, RowLatitude, Sight};
use crate::oracle::view::Alone;
use Line::{Answers, Returns, Stands, Waits};

const TABLES: &str = "CREATE TABLE t (pkey INTEGER PRIMARY KEY, vkey INT, c INT);\n\
     /* init */ CREATE TABLE u (pkey INTEGER PRIMARY KEY, vkey INT, c INT);\n\
     /* init */ INSERT INTO u VALUES (1, 1, 1), (2, 1, 2), (3, 1, 3)";
const JOIN: &str = "SELECT t.pkey, t.vkey, u.c FROM t JOIN u ON u.pkey = t.c FOR UPDATE";

/// Whether no second look explains what the join gives, by how many versions of row 2 it may have met: that of T1, whose
/// release woke it, and that of T3, which the same release woke.
fn is_beyond(given: Rows, met: usize) -> bool {
    let lines = [
        Answers(1, "BEGIN", 0),
        Answers(
            1,
            "UPDATE t SET vkey = 1000, c = CASE pkey WHEN 1 THEN 2 ELSE c END",
            2,
        ),
        Stands(&[[1, 1000, 2], [2, 1000, 3]]),
        Waits(2, JOIN),
        Answers(1, "COMMIT", 0),
        Returns(2, given),
        Answers(3, "UPDATE t SET vkey = 1002 WHERE pkey = 2", 1),
        Stands(&[[1, 1000, 2], [2, 1002, 3]]),
    ];
    let script = Script::new(RC, TABLES, &[[1, 1, 1], [2, 2, 3]], &lines);
    script.learned(|evidence, serial| {
        let mut statements = evidence.case.statements.iter();
        let read = statements
            .find(|statement| statement.sql == JOIN)
            .expect("it is there");
        let mut evidence = evidence.clone();
        let account = &mut evidence.account;
        let seen = account
            .views
            .get_mut(&read.id)
            .and_then(|view| view.get_mut("t"));
        let seen = seen.expect("a view");
        let mut latitude = Latitude {
            beyond: Some(UndecidedReason::RowReadAgainAfterAWait),
            ..Latitude::default()
        };
        for (key, met) in [(1, 1), (2, met)] {
            let row = RowId::first(Value::Integer(key));
            let [old, newer @ ..] = account.chains.chain("t", &row) else {
                panic!("row {key} has versions");
            };
            seen.insert(row.clone(), Some(*old));
            let newer = newer.iter().take(met);
            let sights = newer.map(|version| (Sight::Version(*version), Doubt::ReEvaluated));
            latitude.rows.push(RowLatitude {
                table: "t".to_owned(),
                sights: sights.collect(),
                row,
            });
        }
        let mut alone = Alone::start(&evidence, serial);
        alone
            .is_beyond_looking_again(read, &latitude)
            .expect("an answer")
    })
}

#[test]
fn a_join_may_meet_a_row_before_a_write_that_was_woken_with_it() {
    // Row 1 meets only the row that it was joined with, and no longer fits that.
    let met_first: Rows = &[[2, 1000, 3]];
    assert!(!is_beyond(met_first, 2));
    assert!(!is_beyond(&[[2, 1002, 3]], 2));
    assert!(!is_beyond(met_first, 1));
    // Nobody can have met the row as it was before the release.
    assert!(is_beyond(&[[2, 2, 3]], 1));
}
