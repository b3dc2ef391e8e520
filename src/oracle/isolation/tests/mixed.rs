//! Sessions at several levels.

use super::{
    Line, Nothing, READ, READ_1, READ_2, ROW_1, ROW_2, Shows, Stands, mariadb,
    reads_around_a_writer, run, worst,
};
use crate::dialect::dialect_with;
use crate::model::Anomaly;
use crate::oracle::Evidence;
use crate::oracle::isolation::{ItemGraph, JudgedBy, anomalies, item_queries, promises};

/// The anomaly of a run among the transactions whose level is serializable.
fn worst_among_serializable(evidence: &Evidence) -> Option<Anomaly> {
    let queries = item_queries(evidence);
    let graph = ItemGraph::of(evidence, &queries, &JudgedBy::SerializableAlone);
    anomalies::worst(evidence, &queries, &graph).map(|found| found.anomaly)
}

#[test]
fn mixed_levels_are_judged_each_by_its_own() {
    let skewed = reads_around_a_writer((READ_1, &[(1, 10)]), (READ_2, &[(2, 2000)]));
    let mixed = |one: &str, two: &str| {
        let header = format!("--! isolation = {{ s1 = \"{one}\", s2 = \"{two}\" }}");
        worst(&run(&header, mariadb(&[]), &skewed))
    };
    assert_eq!(mixed("READ COMMITTED", "SERIALIZABLE"), None);
    assert_eq!(mixed("READ UNCOMMITTED", "REPEATABLE READ"), None);
    assert_eq!(
        mixed("REPEATABLE READ", "READ UNCOMMITTED"),
        Some(Anomaly::ReadSkew)
    );
}

/// A level that refuses what conflicts looks at its own transactions alone, and at all of those.
#[test]
fn serializable_transactions_are_so_among_themselves_beside_a_weaker_one() {
    let skewed = |third: &'static str, writer: u32| -> [Line; 10] {
        [
            (1, "BEGIN", Nothing),
            (2, "BEGIN", Nothing),
            (3, "BEGIN", Nothing),
            (1, READ, Shows(&[(1, 10), (2, 20)])),
            (2, READ, Shows(&[(1, 10), (2, 20)])),
            (1, ROW_1, Stands(&[(1, 1000), (2, 20)])),
            (writer, ROW_2, Stands(&[(1, 1000), (2, 2000)])),
            (1, "COMMIT", Nothing),
            (2, "COMMIT", Nothing),
            (3, third, Nothing),
        ]
    };
    let heard = |levels: [&str; 3], lines: &[Line]| {
        let [one, two, three] = levels;
        let header =
            format!("--! isolation = {{ s1 = \"{one}\", s2 = \"{two}\", s3 = \"{three}\" }}");
        let evidence = run(&header, dialect_with("postgres", "18.0", &[]), lines);
        assert_eq!(worst(&evidence), None, "{levels:?}");
        let among = promises::serializable_among_others(&evidence);
        among.then(|| worst_among_serializable(&evidence)).flatten()
    };
    let (weak, strong) = ("READ COMMITTED", "SERIALIZABLE");
    let own = skewed("COMMIT", 2);
    assert_eq!(
        heard([strong, strong, weak], &own),
        Some(Anomaly::WriteSkew)
    );
    assert_eq!(heard([strong, weak, strong], &own), None);
    // A circle through a weaker one is none of theirs.
    let others = skewed("COMMIT", 3);
    assert_eq!(heard([strong, strong, weak], &others), None);
}
