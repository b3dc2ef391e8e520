//! What counts as a read, and how a finding is told.

use super::super::{ItemGraph, JudgedBy, anomalies, finding, item_queries};
use super::{
    CountsNone, Line, Nothing, ProbeShows, READ_1, READ_2, ROW_1, ROW_1_AGAIN, ROW_2, Shows,
    Stands, at, heard, mariadb, reads_around_a_writer, run,
};
use crate::model::Anomaly;

#[test]
fn what_a_probe_shows_inside_a_transaction_is_a_read() {
    let sum = "SELECT SUM(vkey) FROM t";
    let lines = |second: &'static [(i64, i64)]| -> [Line; 8] {
        [
            (1, "BEGIN", Nothing),
            (1, sum, ProbeShows(&[(1, 10), (2, 20)])),
            (2, "BEGIN", Nothing),
            (2, ROW_1, Stands(&[(1, 1000), (2, 20)])),
            (2, ROW_2, Stands(&[(1, 1000), (2, 2000)])),
            (2, "COMMIT", Nothing),
            (1, sum, ProbeShows(second)),
            (1, "COMMIT", Nothing),
        ]
    };
    let skewed = lines(&[(1, 1000), (2, 2000)]);
    assert_eq!(
        heard("REPEATABLE READ", &skewed),
        Some(Anomaly::NonRepeatableRead)
    );
    assert_eq!(heard("REPEATABLE READ", &lines(&[(1, 10), (2, 20)])), None);
    // Outside a transaction a probe belongs to none.
    let alone: &[Line] = &[
        (1, "BEGIN", Nothing),
        (1, ROW_1, Stands(&[(1, 1000), (2, 20)])),
        (2, sum, ProbeShows(&[(1, 1000), (2, 20)])),
        (1, "ROLLBACK", Nothing),
    ];
    assert_eq!(heard("READ COMMITTED", alone), None);
}

#[test]
fn rows_that_two_versions_have_name_none() {
    let lines: &[Line] = &[
        (1, "BEGIN", Nothing),
        (1, ROW_1, Stands(&[(1, 1000), (2, 20)])),
        (
            1,
            "UPDATE t SET vkey = 10 WHERE pkey = 1",
            Stands(&[(1, 10), (2, 20)]),
        ),
        (1, "ROLLBACK", Nothing),
        (2, READ_1, Shows(&[(1, 10)])),
    ];
    assert_eq!(heard("READ COMMITTED", lines), None);
}

#[test]
fn a_finding_tells_the_cycle_with_a_reason_for_each_edge() {
    let skewed = reads_around_a_writer((READ_1, &[(1, 10)]), (READ_2, &[(2, 2000)]));
    let evidence = run(&at("REPEATABLE READ"), mariadb(&[]), &skewed);
    let queries = item_queries(&evidence);
    let graph = ItemGraph::of(&evidence, &queries, &JudgedBy::ByLevel);
    let found = anomalies::worst(&evidence, &queries, &graph).expect("read skew");
    let finding = finding(&evidence, found);
    assert_eq!(
        finding.headline,
        "read skew (G-single) at REPEATABLE READ: \
         T1 -rw(t row 1)-> T2 -wr(t row 2)-> T1"
    );
    assert_eq!(
        finding.explanation,
        [
            "T1 before T2 (rw): T1.2 shows (1, 10), which T2.2 replaced by (1, 1000)",
            "T2 before T1 (wr): T1.3 shows (2, 2000), which T2.3 wrote",
            "REPEATABLE READ promises causal consistency",
        ]
    );
    assert_eq!(finding.signature.features, ["select", "update"]);
}

/// T1 deletes the row, or T3 does, which the engine knows; T2 inserts it anew, and T1 changes it.
fn deleted_by_one_of_two(first: Line) -> [Line; 6] {
    [
        (1, "BEGIN", Nothing),
        first,
        (
            2,
            "INSERT INTO t (pkey, vkey) VALUES (1, 1000)",
            Stands(&[(1, 1000), (2, 20)]),
        ),
        (1, ROW_1_AGAIN, Stands(&[(1, 1001), (2, 20)])),
        (1, "COMMIT", Nothing),
        (3, READ_2, Shows(&[(2, 20)])),
    ]
}

#[test]
fn a_change_of_a_write_that_counted_none_is_of_nobody() {
    const DELETE: &str = "DELETE FROM t WHERE pkey = 1";
    let dirty = deleted_by_one_of_two((1, DELETE, Stands(&[(2, 20)])));
    assert_eq!(heard("READ COMMITTED", &dirty), Some(Anomaly::DirtyWrite));
    let miscounted = deleted_by_one_of_two((1, DELETE, CountsNone(&[(2, 20)])));
    assert_eq!(heard("READ COMMITTED", &miscounted), None);
}
