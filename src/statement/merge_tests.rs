//! MERGE: what it means, and how it gets smaller.

use super::analyze;
use super::simplify;
use super::tests::{dialect, meaning};

#[test]
fn a_merge_finds_its_rows_as_an_update_does() {
    let using = "MERGE INTO t AS x USING u ON x.pkey = u.pkey WHEN MATCHED AND u.a > (SELECT 1 FROM w) THEN";
    let table = [
        (
            format!(
                "{using} UPDATE SET vkey = 1000, a = u.a WHEN NOT MATCHED THEN INSERT (pkey) VALUES (u.pkey)"
            ),
            "a vkey",
            true,
        ),
        (format!("{using} UPDATE SET a = u.a"), "a", false),
        (format!("{using} DELETE"), "", true),
    ];
    for (sql, assigned, leaves_a_trace) in table {
        let expected = "merge: t=update-target u=update-source w=update-source";
        assert_eq!(meaning(&sql, "postgres"), expected, "{sql}");
        let effect = analyze(&sql, &dialect("postgres"));
        let columns: Vec<&str> = effect.assigned.keys().map(String::as_str).collect();
        assert_eq!(columns.join(" "), assigned, "{sql}");
        assert_eq!(effect.leaves_a_trace(Some("vkey")), leaves_a_trace, "{sql}");
    }
}

#[test]
fn a_merge_is_simplified_clause_by_clause_and_keeps_its_version_keys() {
    let using = "MERGE INTO t1 USING (VALUES (3)) AS v (k) ON t1.pkey = v.k";
    let update = "WHEN MATCHED THEN UPDATE SET vkey = 1000, c0 = 1";
    let insert = "WHEN NOT MATCHED THEN INSERT (pkey, vkey) VALUES (v.k, 1000)";
    let sql = format!("{using} {update} {insert} RETURNING t1.pkey");
    let found = simplify(&sql, &dialect("postgres"));
    for wanted in [
        format!("{using} {update} {insert}"),
        format!("{using} {update} RETURNING t1.pkey"),
        format!("{using} WHEN MATCHED THEN UPDATE SET vkey = 1000 {insert} RETURNING t1.pkey"),
    ] {
        assert!(found.contains(&wanted), "{wanted} not in {found:#?}");
    }
    let updates = found.iter().filter(|text| text.contains("UPDATE SET"));
    for text in updates {
        assert!(text.contains("UPDATE SET vkey = 1000"), "{text}");
    }
}
