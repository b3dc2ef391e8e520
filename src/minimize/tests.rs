//! Minimization with pure predicates: no engine, every candidate is judged by its text.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::dialect::dialect_of;
use crate::model::{CaseStatement, Role, StatementKind};
use crate::reproducer::case_of;

fn mysql() -> Dialect {
    crate::dialect::dialect_of("mysql", "9.7.0")
}

/// Three tables with six rows each.
fn tables() -> String {
    let table = |n: u32| {
        let rows: Vec<String> = (0..6).map(|n| format!("({n}, {n}, {n}, 'a')")).collect();
        format!(
            "/* init */ CREATE TABLE t{n} (pkey BIGINT PRIMARY KEY, vkey BIGINT, c0 INT, c1 VARCHAR(9));\n\
             /* init */ CREATE INDEX i{n} ON t{n} (c0);\n\
             /* init */ INSERT INTO t{n} (pkey, vkey, c0, c1) VALUES {};\n",
            rows.join(", ")
        )
    };
    (0..3).map(table).collect()
}

/// A case of these statements of sessions, on the tables.
fn case(sessions: &str) -> TestCase {
    case_of(&format!("{}{sessions}", tables()), &mysql())
}

/// Statements as a case file has them.
fn tagged(lines: &[(u32, String)]) -> String {
    let line = |(session, sql): &(u32, String)| format!("/* s{session} */ {sql};\n");
    lines.iter().map(line).collect()
}

fn run(
    case: &TestCase,
    mut predicate: impl FnMut(&TestCase) -> bool,
    budget: MinimizeBudget,
) -> Minimized<Infallible> {
    minimize(case, &mysql(), &mut |case| Ok(predicate(case)), budget)
}

/// What the sessions send, a line each.
fn lines_of(case: &TestCase) -> String {
    let lines = case.statements.iter();
    let lines: Vec<String> = lines.map(|s| format!("{} {}", s.session, s.sql)).collect();
    lines.join("\n")
}

/// Sessions with their transactions, merged by the choices.
fn random_case() -> impl Strategy<Value = TestCase> {
    let statement = (0..3_u32, 0..6_u32, 0..4_u32).prop_map(|(table, row, kind)| match kind {
        0 => format!("UPDATE t{table} SET vkey = 1000, c0 = 5 WHERE pkey = {row}"),
        1 => format!("DELETE FROM t{table} WHERE pkey = {row}"),
        2 => format!("SELECT pkey, c0 FROM t{table} WHERE c0 > {row} FOR UPDATE"),
        _ => format!("SELECT * FROM t{table} WHERE pkey >= {row}"),
    });
    let transaction = (proptest::collection::vec(statement, 1..5), any::<bool>());
    let session = proptest::collection::vec(transaction, 1..3);
    (
        proptest::collection::vec(session, 2..5),
        proptest::collection::vec(any::<proptest::sample::Index>(), 60),
    )
        .prop_map(|(sessions, choices)| {
            let mut queues: Vec<Vec<String>> = sessions
                .into_iter()
                .map(|transactions| {
                    let texts = transactions.into_iter().flat_map(|(statements, commits)| {
                        let end = if commits { "COMMIT" } else { "ROLLBACK" };
                        let begin = std::iter::once("BEGIN".to_owned());
                        begin.chain(statements).chain([end.to_owned()])
                    });
                    let mut texts: Vec<String> = texts.collect();
                    texts.reverse();
                    texts
                })
                .collect();
            let mut lines = Vec::new();
            for choice in choices.iter().cycle() {
                let open: Vec<usize> = (0..queues.len())
                    .filter(|queue| !queues[*queue].is_empty())
                    .collect();
                if open.is_empty() {
                    break;
                }
                let queue = open[choice.index(open.len())];
                lines.extend(queues[queue].pop().map(|sql| (queue as u32 + 1, sql)));
            }
            case(&tagged(&lines))
        })
}

fn targets(statement: &CaseStatement, table: &str) -> bool {
    statement.effect.targets().any(|target| target == table)
}

/// A transaction updates a table and another one reads it later, before the first ends.
fn dirty_read_shape(case: &TestCase) -> bool {
    let lines = &case.statements;
    lines.iter().enumerate().any(|(at, write)| {
        let kind = write.effect.kind;
        kind == StatementKind::Update
            && lines[at..]
                .iter()
                .take_while(|s| s.id.transaction != write.id.transaction || !s.effect.kind.is_end())
                .any(|read| {
                    let reads = read.effect.kind == StatementKind::Select;
                    let table = read.effect.uses.first().map(|u| u.table.as_str());
                    reads
                        && read.session != write.session
                        && case.is_explicit(write.id.transaction)
                        && table
                            .is_some_and(|table| targets(write, table) && holds_rows(case, table))
                })
    })
}

fn holds_rows(case: &TestCase, table: &str) -> bool {
    let name = format!("INSERT INTO {table} ");
    case.setup.iter().any(|setup| setup.sql.starts_with(&name)) && case.table(table).is_some()
}

#[test]
fn a_dirty_read_comes_down_to_its_two_transactions() {
    let sessions = "/* s3 */ BEGIN;\n\
                 /* s1 */ BEGIN;\n\
                 /* s1 */ SELECT * FROM t2;\n\
                 /* s2 */ BEGIN;\n\
                 /* s3 */ DELETE FROM t2 WHERE pkey = 3;\n\
                 /* s2 */ SELECT * FROM t0;\n\
                 /* s1 */ UPDATE t1 SET vkey = 1000, c0 = 1 WHERE pkey = 1;\n\
                 /* s3 */ ROLLBACK;\n\
                 /* s1 */ DELETE FROM t0 WHERE pkey = 1;\n\
                 /* s2 */ SELECT * FROM t1 WHERE c0 = 1;\n\
                 /* s1 */ UPDATE t2 SET vkey = 1001, c0 = 1 WHERE pkey = 1;\n\
                 /* s2 */ UPDATE t2 SET vkey = 1002, c0 = 1 WHERE pkey = 2;\n\
                 /* s1 */ ROLLBACK;\n\
                 /* s2 */ COMMIT;\n";
    let result = run(&case(sessions), dirty_read_shape, MinimizeBudget::default());
    assert_eq!(result.end, MinimizeEnd::Fixpoint);
    let setup: Vec<&str> = result.case.setup.iter().map(|s| s.sql.as_str()).collect();
    let all = format!("{}\n{}\n", setup.join("\n"), lines_of(&result.case));
    expect_test::expect![[r#"
        CREATE TABLE t0 (vkey BIGINT)
        INSERT INTO t0 (vkey) VALUES (5)
        s1 BEGIN
        s1 UPDATE t0 SET vkey = 1000
        s2 SELECT * FROM t0
        s1 ROLLBACK
    "#]]
    .assert_eq(&all);
}

/// Workloads have dozens of transactions: to try every pair of them would cost the whole budget.
#[test]
fn a_finding_of_three_among_many_transactions_is_found_within_the_budget() {
    let line = |n: u32| {
        let sql = match n {
            7 => "UPDATE t0 SET vkey = 1000".to_owned(),
            31 => "DELETE FROM t1".to_owned(),
            58 => "SELECT * FROM t2".to_owned(),
            n => format!("UPDATE t2 SET vkey = {n}"),
        };
        (n % 5 + 1, sql)
    };
    let lines: Vec<(u32, String)> = (0..60).map(line).collect();
    let shows = |case: &TestCase| {
        let lines = lines_of(case);
        let needed = ["UPDATE t0", "DELETE FROM t1", "SELECT * FROM t2"];
        needed.iter().all(|sql| lines.contains(sql))
    };
    let result = run(&case(&tagged(&lines)), shows, MinimizeBudget::default());
    assert_eq!(result.end, MinimizeEnd::Fixpoint);
    let kinds = result.case.statements.iter().map(|s| s.effect.kind);
    let left = kinds.filter(|kind| !kind.is_begin() && !kind.is_end());
    assert_eq!(left.count(), 3, "{}", lines_of(&result.case));
}

/// Three statements in this order, by at least two transactions that overlap.
fn three_in_order(case: &TestCase) -> bool {
    let mut wanted = ["UPDATE t0", "SELECT * FROM t1", "DELETE FROM t2"].iter();
    let mut next = wanted.next();
    let mut by = BTreeSet::new();
    for statement in &case.statements {
        if next.is_some_and(|text| statement.sql.starts_with(text)) {
            by.insert(statement.id.transaction);
            next = wanted.next();
        }
    }
    next.is_none() && by.len() > 1
}

#[test]
fn two_of_three_transactions_are_joined_where_the_finding_allows_it() {
    let sessions = "/* s1 */ BEGIN;\n\
                 /* s1 */ UPDATE t0 SET c0 = 1;\n\
                 /* s2 */ START TRANSACTION WITH CONSISTENT SNAPSHOT;\n\
                 /* s2 */ SELECT * FROM t1;\n\
                 /* s3 */ DELETE FROM t2;\n\
                 /* s2 */ COMMIT;\n\
                 /* s1 */ ROLLBACK;\n";
    let result = run(&case(sessions), three_in_order, MinimizeBudget::default());
    assert_eq!(result.end, MinimizeEnd::Fixpoint);
    expect_test::expect![[r#"
        s1 BEGIN
        s1 UPDATE t0 SET c0 = 1
        s1 SELECT * FROM t1
        s1 COMMIT
        s2 DELETE FROM t2"#]]
    .assert_eq(&lines_of(&result.case));
}

#[test]
fn a_chain_is_taken_apart_where_the_finding_does_not_need_it() {
    let sessions = "/* s1 */ BEGIN;\n/* s1 */ SELECT * FROM t0;\n/* s1 */ COMMIT AND CHAIN;\n\
                 /* s1 */ DELETE FROM t1;\n/* s1 */ ROLLBACK;\n";
    let deletes = |case: &TestCase| case.user_statements().any(|s| targets(s, "t1"));
    let result = run(&case(sessions), deletes, MinimizeBudget::default());
    expect_test::expect![[r#"
        s1 DELETE FROM t1"#]]
    .assert_eq(&lines_of(&result.case));
    let needed = |case: &TestCase| deletes(case) && case.statements.iter().any(|s| s.effect.chains);
    let result = run(&case(sessions), needed, MinimizeBudget::default());
    expect_test::expect![[r#"
        s1 BEGIN
        s1 COMMIT AND CHAIN
        s1 DELETE FROM t1"#]]
    .assert_eq(&lines_of(&result.case));
}

#[test]
fn a_transaction_asks_at_its_begin_only_for_what_the_finding_needs() {
    let sessions = "/* s1 */ START TRANSACTION WITH CONSISTENT SNAPSHOT;\n\
                 /* s1 */ SELECT * FROM t0;\n\
                 /* s2 */ START TRANSACTION READ ONLY;\n\
                 /* s2 */ SELECT * FROM t1;\n\
                 /* s2 */ COMMIT;\n\
                 /* s1 */ COMMIT;\n";
    let needed = |case: &TestCase| {
        let sql = |text: &str| case.statements.iter().any(|s| s.sql.contains(text));
        sql("SNAPSHOT") && sql("t1") && case.count(StatementKind::Commit) == 2
    };
    let result = run(&case(sessions), needed, MinimizeBudget::default());
    expect_test::expect![[r#"
        s1 BEGIN
        s1 SELECT * FROM t1
        s1 COMMIT
        s2 START TRANSACTION WITH CONSISTENT SNAPSHOT
        s2 COMMIT"#]]
    .assert_eq(&lines_of(&result.case));
}

#[test]
fn a_setting_that_the_finding_needs_stays_outside_of_transactions() {
    let sessions = "/* s1 */ SET SESSION join_buffer_size = 128;\n\
                 /* s1 */ UPDATE t0 SET c0 = 1;\n\
                 /* s2 */ DELETE FROM t2;\n";
    let result = run(
        &case(sessions),
        |case| case.statements.len() >= 3 && case.count(StatementKind::Set) == 1,
        MinimizeBudget::default(),
    );
    expect_test::expect![[r#"
        s1 SET SESSION join_buffer_size = 128
        s1 UPDATE t0 SET c0 = 1
        s2 DELETE FROM t2"#]]
    .assert_eq(&lines_of(&result.case));
}

#[test]
fn table_options_go_unless_the_finding_needs_them() {
    let case = case_of(
        "/* init */ CREATE TABLE t0 (c0 INT) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 \
         COLLATE=utf8mb4_bin PARTITION BY HASH (c0) PARTITIONS 3;\n/* s1 */ SELECT * FROM t0;\n",
        &mysql(),
    );
    let setup = |case: &TestCase| case.setup.iter().map(|s| s.sql.clone()).collect::<String>();
    let none = run(&case, |_| true, MinimizeBudget::default());
    assert_eq!(setup(&none.case), "");
    let created = |case: &TestCase| setup(case).contains("CREATE TABLE");
    let plain = run(&case, created, MinimizeBudget::default());
    assert_eq!(setup(&plain.case), "CREATE TABLE t0 (c0 INT)");
    let partitioned = |case: &TestCase| setup(case).contains("PARTITIONS 3");
    let result = run(&case, partitioned, MinimizeBudget::default());
    assert_eq!(
        setup(&result.case),
        "CREATE TABLE t0 (c0 INT) PARTITION BY HASH (c0) PARTITIONS 3"
    );
}

#[test]
fn partitions_that_are_statements_of_their_own_go_with_the_clause_that_asks_for_them() {
    let postgres = dialect_of("postgres", "17");
    let case = case_of(
        "/* init */ CREATE TABLE t0 (c0 INT) PARTITION BY HASH (c0);\n\
         /* init */ CREATE TABLE t0_0 PARTITION OF t0 FOR VALUES WITH (MODULUS 2, REMAINDER 0);\n\
         /* init */ CREATE TABLE t0_1 PARTITION OF t0 FOR VALUES WITH (MODULUS 2, REMAINDER 1);\n\
         /* s1 */ SELECT * FROM t0;\n",
        &postgres,
    );
    // As a server judges: a clause without its partitions takes no row, and they are nothing without it.
    let stands = |case: &TestCase| {
        let of = case
            .setup
            .iter()
            .filter(|s| s.sql.contains(" PARTITION OF "));
        let count = of.count();
        match case.tables.as_slice() {
            [only] => count == if only.partitioning.is_some() { 2 } else { 0 },
            _ => false,
        }
    };
    assert!(stands(&case));
    let budget = MinimizeBudget::default();
    let mut judge = |case: &TestCase| Ok::<_, Infallible>(stands(case));
    let result = minimize(&case, &postgres, &mut judge, budget);
    let left: Vec<&str> = result.case.setup.iter().map(|s| s.sql.as_str()).collect();
    assert_eq!(left, ["CREATE TABLE t0 (c0 INT)"]);
}

#[test]
fn views_keys_and_the_actions_of_foreign_keys_go_unless_the_finding_needs_them() {
    let case = case_of(
        "/* init */ CREATE TABLE t0 (c0 INT PRIMARY KEY, c1 INT, CHECK (c1 > 0));\n\
         /* init */ CREATE TABLE t1 (c0 INT, KEY (c0), FOREIGN KEY (c0) REFERENCES t0 (c0) \
         ON DELETE CASCADE ON UPDATE SET NULL);\n\
         /* init */ CREATE VIEW v0 AS SELECT c0, c1 FROM t0 WHERE c1 > 1;\n\
         /* s1 */ DELETE FROM v0 WHERE v0.c0 = 1;\n/* s1 */ SELECT c0 FROM t1;\n",
        &mysql(),
    );
    let texts = |case: &TestCase| {
        let setup = case.setup.iter().map(|s| s.sql.clone());
        let statements = case.statements.iter().map(|s| s.sql.clone());
        setup.chain(statements).collect::<Vec<_>>()
    };
    let cascades = |case: &TestCase| {
        let mut changed = case.statements.iter().flat_map(|s| &s.effect.uses);
        changed.any(|u| u.role == Role::ForeignKeyTarget)
    };
    let result = run(&case, cascades, MinimizeBudget::default());
    expect_test::expect![[r#"
        CREATE TABLE t1 (c0 INT, FOREIGN KEY (c0) REFERENCES t0 (c0) ON DELETE CASCADE)
        DELETE FROM t0"#]]
    .assert_eq(&texts(&result.case).join("\n"));
    let reads_a_view = |case: &TestCase| texts(case).iter().any(|sql| sql.contains("FROM v0"));
    let result = run(&case, reads_a_view, MinimizeBudget::default());
    assert!(texts(&result.case).contains(&"DELETE FROM v0".to_owned()));
}

/// A read before a write of another transaction and a read after it, both in one transaction; the
/// write may also be sent before the first read, if something held it up.
fn non_repeatable(case: &TestCase) -> bool {
    let place = |text: &str| case.statements.iter().position(|s| s.sql.starts_with(text));
    let (Some(first), Some(write), Some(last)) = (
        place("SELECT * FROM t0"),
        place("UPDATE t0"),
        place("DELETE FROM t0"),
    ) else {
        return false;
    };
    let transaction = |at: usize| case.statements[at].id.transaction;
    let held_up = place("SELECT * FROM t1 FOR UPDATE")
        .is_some_and(|at| at < write && ![write, last].map(transaction).contains(&transaction(at)));
    transaction(first) == transaction(last)
        && transaction(write) != transaction(last)
        && if held_up {
            write < first
        } else {
            first < write && write < last
        }
}

#[test]
fn a_transaction_that_only_held_a_lock_goes_and_what_waited_comes_later() {
    let sessions = "/* s1 */ BEGIN;\n\
                 /* s1 */ SELECT * FROM t1 FOR UPDATE;\n\
                 /* s2 */ UPDATE t0 SET c0 = 1;\n\
                 /* s3 */ BEGIN;\n\
                 /* s3 */ SELECT * FROM t0;\n\
                 /* s3 */ DELETE FROM t0;\n\
                 /* s1 */ ROLLBACK;\n\
                 /* s3 */ COMMIT;\n";
    let result = run(&case(sessions), non_repeatable, MinimizeBudget::default());
    assert_eq!(result.end, MinimizeEnd::Fixpoint);
    expect_test::expect![[r#"
        s1 BEGIN
        s1 SELECT * FROM t0
        s2 UPDATE t0 SET c0 = 1
        s1 DELETE FROM t0
        s1 COMMIT"#]]
    .assert_eq(&lines_of(&result.case));
}

#[test]
fn the_budget_and_a_failing_predicate_end_the_search_with_what_was_found() {
    let lines: Vec<(u32, String)> = (1..5)
        .flat_map(|session| {
            ["BEGIN", "SELECT * FROM t0", "COMMIT"].map(|sql| (session, sql.to_owned()))
        })
        .collect();
    let case = case(&tagged(&lines));
    let budget = MinimizeBudget {
        candidates: 3,
        time: Duration::from_secs(60),
    };
    let mut asked = 0;
    let result = run(
        &case,
        |_| {
            asked += 1;
            asked == 2
        },
        budget,
    );
    assert_eq!(
        (result.end, result.tried, result.kept),
        (MinimizeEnd::Budget, 3, 1)
    );
    assert_eq!(asked, 3);
    assert!(result.case.statements.len() < case.statements.len());

    let mut fails = |_: &TestCase| Err("gone");
    let result = minimize(&case, &mysql(), &mut fails, budget);
    assert_eq!(
        (result.end, result.case),
        (MinimizeEnd::Failed("gone"), case)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_result_satisfies_the_predicate_and_is_small(case in random_case()) {
        prop_assume!(dirty_read_shape(&case));
        let mut seen = BTreeSet::new();
        let mut twice = 0;
        let result = run(
            &case,
            |candidate| {
                twice += u32::from(!seen.insert(format!("{candidate:?}")));
                dirty_read_shape(candidate)
            },
            MinimizeBudget::default(),
        );
        prop_assert!(dirty_read_shape(&result.case));
        prop_assert_eq!(twice, 0, "a candidate was asked for twice");
        prop_assert_eq!(&result.end, &MinimizeEnd::Fixpoint);
        prop_assert!(result.tried <= 800);
        prop_assert!(result.case.statements.len() <= 4, "{:?}", result.case.statements);
        prop_assert!(result.case.user_statements().count() == 2);
    }

    #[test]
    fn a_begin_and_its_end_go_together_or_stay_together(
        case in random_case(), seed in any::<u64>(),
    ) {
        // A predicate without sense: each candidate is kept or not by its hash.
        let mut count = seed;
        let result = run(
            &case,
            |candidate| {
                count = count.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                for statement in &candidate.statements {
                    let kind = statement.effect.kind;
                    assert_eq!(kind.is_begin(), candidate.is_explicit(statement.id.transaction)
                        && statement.id.position == 1);
                    assert!(!kind.is_end() || candidate.is_explicit(statement.id.transaction));
                }
                count >> 33 & 1 == 1
            },
            MinimizeBudget::default(),
        );
        prop_assert!(result.tried <= 800);
    }
}

#[test]
fn what_is_left_open_is_asked_for_again_behind_the_others_until_it_is_decided() {
    let sessions = "/* s1 */ BEGIN;\n\
                 /* s1 */ UPDATE t0 SET c0 = 1;\n\
                 /* s1 */ SELECT * FROM t1;\n\
                 /* s2 */ DELETE FROM t2;\n\
                 /* s1 */ COMMIT;\n";
    let case = case(sessions);
    let mut asked: Vec<[u8; 32]> = Vec::new();
    let mut answer = |candidate: SmallerCase<'_>| {
        let before = asked.iter().filter(|key| **key == candidate.key).count();
        asked.push(candidate.key);
        let shows = lines_of(candidate.case).contains("UPDATE t0");
        Ok::<_, Infallible>(match before {
            0 | 1 => CandidateAnswer::Open,
            _ if shows => CandidateAnswer::Shows,
            _ => CandidateAnswer::Hides,
        })
    };
    let named = BTreeSet::new();
    let budget = MinimizeBudget::default();
    let result = minimize_by_answers(&case, &named, &mysql(), &mut answer, budget);
    assert_eq!(result.end, MinimizeEnd::Fixpoint);
    assert_eq!(lines_of(&result.case), "s1 UPDATE t0 SET c0 = 1");
    let again = asked.iter().skip(1).position(|key| *key == asked[0]);
    assert!(
        again.is_some_and(|others| others > 2),
        "{again:?} others between"
    );
    // Each was decided, and counts once.
    let distinct: BTreeSet<[u8; 32]> = asked.iter().copied().collect();
    assert_eq!(u32::try_from(distinct.len()), Ok(result.tried));
}

#[test]
fn what_the_finding_is_about_is_tried_first_beside_each_transaction_that_was_open() {
    let mut sessions = String::new();
    for session in 1..=6 {
        sessions += &format!("/* s{session} */ BEGIN;\n");
    }
    for session in 1..=6 {
        sessions += &format!("/* s{session} */ UPDATE t0 SET c0 = {session};\n");
        sessions += &format!("/* s{session} */ SELECT * FROM t{};\n", session % 3);
    }
    for session in 1..=6 {
        sessions += &format!("/* s{session} */ COMMIT;\n");
    }
    let case = case(&sessions);
    let update = |case: &TestCase, session: u32| {
        let text = format!("UPDATE t0 SET c0 = {session}");
        case.statements
            .iter()
            .find(|s| s.sql.starts_with(&text))
            .map(|s| s.id)
    };
    // The third session's update beside the fifth one's transaction.
    let mut first = None;
    let mut tried = 0;
    let mut answer = |candidate: SmallerCase<'_>| {
        tried += 1;
        let lines = lines_of(candidate.case);
        let shows = update(candidate.case, 3).is_some() && lines.contains("s5 BEGIN");
        if shows && first.is_none() {
            first = Some((tried, lines));
        }
        Ok::<_, Infallible>(match shows {
            true => CandidateAnswer::Shows,
            false => CandidateAnswer::Hides,
        })
    };
    let named = update(&case, 3).into_iter().collect();
    let budget = MinimizeBudget::default();
    minimize_by_answers(&case, &named, &mysql(), &mut answer, budget);
    let (tried, lines) = first.expect("one shows it");
    assert_eq!(tried, 4);
    expect_test::expect![[r#"
        s3 BEGIN
        s5 BEGIN
        s3 UPDATE t0 SET c0 = 3
        s5 UPDATE t0 SET c0 = 5
        s5 SELECT * FROM t2
        s3 COMMIT
        s5 COMMIT"#]]
    .assert_eq(&lines);
}
