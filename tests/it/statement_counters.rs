//! Every statement is sent exactly once: the server counts what the driver says it sent.

use std::collections::BTreeMap;

use rashomon::engine::{OpenOptions, Server, open};
use rashomon::execute::{Driver, Executor, Instrumentation, Recording, Sent, first_word};
use rashomon::generate::{GenerateOptions, generate};
use rashomon::grammar::Grammar;
use rashomon::model::{TestCase, UndecidedReason};

use crate::engine_faults::OwnServer;
use crate::servers::{Needs, url};

/// Cases whose statements are counted.
const CASES: u64 = 1_000;

/// Cases that open every connection first: each connection sets itself up.
const WARM_UP: u64 = 30;

/// The server's counters by the first word of the statements they count.
///
/// Not among them: what only sets a session up (`SET`), and what the watcher sends (`SHOW ENGINE
/// INNODB STATUS`, `SHOW PROCESSLIST`).
const COUNTERS: &[(&[&str], &[&str])] = &[
    (&["SELECT", "WITH", ""], &["Com_select"]),
    (&["INSERT"], &["Com_insert", "Com_insert_select"]),
    (&["REPLACE"], &["Com_replace", "Com_replace_select"]),
    (&["UPDATE"], &["Com_update", "Com_update_multi"]),
    (&["DELETE"], &["Com_delete", "Com_delete_multi"]),
    (&["BEGIN", "START"], &["Com_begin"]),
    (&["COMMIT"], &["Com_commit"]),
    (
        &["ROLLBACK"],
        &["Com_rollback", "Com_rollback_to_savepoint"],
    ),
    (&["SAVEPOINT"], &["Com_savepoint"]),
    (&["RELEASE"], &["Com_release_savepoint"]),
    (&["TRUNCATE"], &["Com_truncate"]),
    (&["CHECK"], &["Com_check"]),
    (&["ALTER"], &["Com_alter_table"]),
    (
        &["DROP"],
        &["Com_drop_table", "Com_drop_index", "Com_drop_view"],
    ),
    (
        &["CREATE"],
        &["Com_create_table", "Com_create_index", "Com_create_view"],
    ),
    (&["SHOW"], &["Com_show_tables"]),
    (&["PREPARE"], &["Com_prepare_sql"]),
    (&["EXECUTE"], &["Com_execute_sql"]),
];

/// The first words of what EXECUTE executed, which the server counts by its own kind, too.
fn executed_words(sent: &Recording) -> BTreeMap<String, u64> {
    let mut prepared = BTreeMap::new();
    let mut counts = BTreeMap::new();
    for Sent { place, sql, .. } in &sent.stream {
        if let Some((name, text)) = sql
            .strip_prefix("PREPARE ")
            .and_then(|rest| rest.split_once(" FROM '"))
        {
            prepared.insert((*place, name), first_word(text));
        } else if let Some(name) = sql.strip_prefix("EXECUTE ") {
            let word = prepared[&(*place, name)].clone();
            *counts.entry(word).or_insert(0) += 1;
        }
    }
    counts
}

/// Which connections the server has and what they are at: one of them holds what a failed run could not read.
fn connections(server: &dyn Server) -> String {
    let sql = "SELECT id, command, time_ms, state, info FROM information_schema.processlist";
    let connection = server.connect("information_schema");
    let answer = connection.and_then(|mut connection| connection.execute(sql));
    format!("{answer:#?}")
}

/// An observed interleaved run, and every statement again, serially.
fn run(server: &dyn Server, driver: &mut Driver<'_>, case: &TestCase) {
    let observe = case
        .user_statements()
        .filter(|statement| statement.effect.kind.is_write())
        .map(|statement| {
            let tables = statement.effect.targets().map(str::to_owned).collect();
            (statement.id, tables)
        })
        .collect();
    let instrumentation = Instrumentation {
        observe,
        ..Instrumentation::default()
    };
    let execution = driver.execute(case, &instrumentation);
    let execution = execution.unwrap_or_else(|error| {
        let sent: Vec<&str> = case.statements.iter().map(|s| s.sql.as_str()).collect();
        panic!("{error}\n{sent:#?}\n{}", connections(server))
    });
    // On a busy machine a wait may be concluded from a timer: what was sent is counted all the same.
    let by_timer = Some(UndecidedReason::BlockedByTimer);
    let reason = execution.unreliable;
    assert!(reason.is_none() || reason == by_timer, "{reason:?}");
    let mut serial = driver.serial(case).expect("a serial run");
    for statement in &case.statements {
        serial.run(&statement.sql).expect("an answer");
    }
    for table in &case.tables {
        serial.contents(&table.name).expect("rows");
    }
}

fn counters(server: &dyn Server) -> BTreeMap<String, u64> {
    let counters = server.statement_counters().expect("an answer");
    counters.expect("this engine counts")
}

/// A server counts twice what it prepares again because DDL has changed a table since PREPARE:
/// `Com_stmt_reprepare` has how often that was, over all kinds.
fn compare(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>, sent: &Recording) {
    let words = sent.first_words();
    let executed = executed_words(sent);
    let increase = |name: &str| after.get(name).unwrap_or(&0) - before.get(name).unwrap_or(&0);
    let mut known = 0;
    let mut twice = 0;
    for (of, names) in COUNTERS {
        let count_of = |words: &BTreeMap<String, u64>| -> u64 {
            of.iter().filter_map(|word| words.get(*word)).sum()
        };
        known += count_of(&words);
        let told = count_of(&words) + count_of(&executed);
        let counted: u64 = names.iter().map(|name| increase(name)).sum();
        assert!(told <= counted, "{of:?}: {told} > {counted}: {words:?}");
        twice += counted - told;
    }
    assert_eq!(twice, increase("Com_stmt_reprepare"), "{words:?}");
    let settings = words.get("SET").copied().unwrap_or(0);
    assert_eq!(known + settings, sent.stream.len() as u64, "{words:?}");
}

#[test]
fn the_servers_statement_counters_match_ours_over_a_thousand_cases() {
    // The URL is not used: the counters are the whole server's, and others are at work there.
    if url("statement_counters", Needs::MariaDb).is_none() {
        return;
    }
    let own = OwnServer {
        instance: "-counters",
    };
    let server = open(&own.script("up"), &OpenOptions::default()).expect("a server");
    let dialect = server.dialect();
    let grammar = Grammar::builtin(&dialect.engine).expect("a grammar");
    // The server counts what a trigger executes, too, and nobody sends that.
    let options = GenerateOptions {
        trigger_percent: 0,
        ..GenerateOptions::default()
    };
    let case = |index| generate(7, index, &options, &grammar, dialect).case;
    let mut driver = Driver::open(server.as_ref(), "rashomon_counters").expect("a driver");
    driver.start_recording().expect("connections");
    (0..WARM_UP).for_each(|index| run(server.as_ref(), &mut driver, &case(index)));
    driver.take_recording();
    let before = counters(server.as_ref());
    (WARM_UP..WARM_UP + CASES).for_each(|index| run(server.as_ref(), &mut driver, &case(index)));
    let after = counters(server.as_ref());
    compare(&before, &after, &driver.take_recording());
    driver.close().expect("databases dropped");
}
