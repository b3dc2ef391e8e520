//! The files that come with the program, and what is wrong with broken ones.

use std::collections::BTreeMap;

use super::{BUILTIN, Capability, Dialect, LockReach, MODES, ServerVersion, parse, parse_for};
use crate::model::{
    ConsistencyModel, ErrorClass, IsolationLevel, ReadMode, Role, StatementKind, Value,
};

fn builtin(engine: &str) -> &'static str {
    super::builtin(engine).expect("a file of this engine")
}

#[test]
fn every_file_is_read_at_every_version() {
    for (name, text) in BUILTIN {
        for version in ["0", "5.6.51", "8.0.36", "10.5.1", "99.0"] {
            let version: ServerVersion = version.parse().expect("a version");
            let dialect = parse(name, text, &version).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(dialect.engine, *name);
            assert!(dialect.spelling.begin.contains_key("plain"), "{name}");
            assert!(!dialect.types.is_empty(), "{name}");
        }
    }
}

/// What a transaction does depends on the mode; types, errors, settings and spelling do not.
#[test]
fn the_optimistic_mode_of_tidb_differs_in_transactions_only() {
    let (name, text) = MODES[0];
    for version in ["4.0.2", "8.5.4"] {
        let version: ServerVersion = version.parse().expect("a version");
        let mut pessimistic = parse("tidb", builtin("tidb"), &version).expect("the file");
        let optimistic = parse(name, text, &version).unwrap_or_else(|error| panic!("{error}"));
        for added in [Capability::Cases, Capability::LocksAtCommit] {
            assert!(optimistic.supports(added));
            pessimistic.capabilities.insert(added);
        }
        for left_out in [
            Capability::LoneWritesLockChanges,
            Capability::Nowait,
            Capability::PassesOverUnfitRows,
        ] {
            assert!(pessimistic.capabilities.remove(&left_out));
        }
        // No statement locks a key that is not there.
        let leaves = Capability::DeleteLeavesLocks;
        pessimistic.capabilities.remove(&leaves);
        let clauses = &mut pessimistic.spelling.lock_clauses;
        assert!(clauses.remove("update-nowait").is_some());
        let mode = "SET SESSION tidb_txn_mode = 'pessimistic'";
        pessimistic.session_setup.retain(|sql| sql != mode);
        let setup = pessimistic.session_setup.len();
        assert_eq!(
            optimistic.session_setup[..setup],
            pessimistic.session_setup[..]
        );
        let of_transactions = optimistic.clone();
        let expected = Dialect {
            why_not: of_transactions.why_not,
            session_setup: of_transactions.session_setup,
            begins_anew_after_wait: of_transactions.begins_anew_after_wait,
            locks_absent_keys: of_transactions.locks_absent_keys,
            known: of_transactions.known,
            read_modes: of_transactions.read_modes,
            autocommit_read_modes: of_transactions.autocommit_read_modes,
            promises: of_transactions.promises,
            locks: of_transactions.locks,
            ends_transaction: of_transactions.ends_transaction,
            ..pessimistic
        };
        assert_eq!(optimistic, expected);
    }
}

#[test]
fn capabilities_begin_with_their_version() {
    let at = |version: &str| {
        parse(
            "mysql",
            builtin("mysql"),
            &version.parse().expect("a version"),
        )
        .expect("the file")
    };
    assert!(!at("5.6.51").supports(Capability::Cte));
    assert!(!at("8.0.0").supports(Capability::Cte));
    assert!(at("8.0.1").supports(Capability::Cte));
    assert!(at("9.7.4").supports(Capability::Cte));
    assert!(at("5.6.51").supports(Capability::LockingRead));
}

#[test]
fn read_modes_differ_inside_and_outside_of_a_transaction() {
    let mysql = parse("mysql", builtin("mysql"), &ServerVersion(vec![9])).expect("the file");
    let mode = |level, role, explicit| mysql.read_mode(level, role, explicit);
    let level = IsolationLevel::Serializable;
    assert_eq!(mode(level, Role::PlainSelect, true), ReadMode::Current);
    assert_eq!(
        mode(level, Role::PlainSelect, false),
        ReadMode::StatementSnapshot
    );
    assert_eq!(mode(level, Role::UpdateTarget, false), ReadMode::Current);
}

#[test]
fn read_modes_change_with_the_servers_variables() {
    let mode = |value: &str| {
        let name = "innodb_snapshot_isolation".to_owned();
        let variables = BTreeMap::from([(name, value.to_owned())]);
        let version = ServerVersion(vec![11, 8]);
        let file = builtin("mariadb");
        let dialect = parse_for("mariadb", file, &version, &variables).expect("the file");
        let level = IsolationLevel::ReadUncommitted;
        dialect.read_mode(level, Role::UpdateTarget, true)
    };
    assert_eq!(mode("ON"), ReadMode::Anything);
    assert_eq!(mode("OFF"), ReadMode::Current);
}

#[test]
fn lists_are_promised_less_where_an_append_reads_past_the_snapshot() {
    use IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};
    let promise = |engine: &str, isolation: &str, level| {
        let name = "innodb_snapshot_isolation".to_owned();
        let variables = BTreeMap::from([(name, isolation.to_owned())]);
        let version = ServerVersion(vec![11, 8]);
        let dialect = parse_for(engine, builtin(engine), &version, &variables).expect("the file");
        dialect.promise_for_lists(level)
    };
    assert_eq!(promise("mariadb", "OFF", RepeatableRead), None);
    assert_eq!(
        promise("mariadb", "ON", RepeatableRead),
        Some(ConsistencyModel::Snapshot)
    );
    assert_eq!(promise("mysql", "OFF", RepeatableRead), None);
    assert_eq!(
        promise("postgres", "", RepeatableRead),
        Some(ConsistencyModel::Snapshot)
    );
    for engine in ["mariadb", "mysql", "postgres"] {
        assert_eq!(
            promise(engine, "OFF", Serializable),
            Some(ConsistencyModel::Serializable)
        );
        assert_eq!(
            promise(engine, "OFF", ReadCommitted),
            Some(ConsistencyModel::ReadCommitted)
        );
    }
    assert_eq!(
        promise("sqlite", "", Serializable),
        Some(ConsistencyModel::StrictSerializable)
    );
}

#[test]
fn codes_have_classes_and_values_have_literals() {
    let mysql = parse("mysql", builtin("mysql"), &ServerVersion(vec![9])).expect("the file");
    assert_eq!(mysql.error_class("1213"), ErrorClass::Deadlock);
    assert_eq!(mysql.error_class("no code"), ErrorClass::Other);
    let text = Value::Text("it's a \\".to_owned());
    assert_eq!(mysql.literal(&text), "'it''s a \\'");
    assert_eq!(mysql.quote("a`b"), "`a``b`");
}

/// Replaces a part of a good file by a bad one, and gives the complaint.
fn complaint(good: &str, bad: &str) -> String {
    let text = builtin("mysql");
    assert!(text.contains(good), "{good}");
    let broken = text.replacen(good, bad, 1);
    let error = parse("my.toml", &broken, &ServerVersion(vec![9])).expect_err(bad);
    assert!(error.line > 0 && error.column > 0);
    error.to_string()
}

#[test]
fn a_broken_file_says_where_and_what_was_expected() {
    let line = |needle: &str| {
        let at = builtin("mysql").find(needle).expect(needle);
        builtin("mysql")[..at].matches('\n').count() + 1
    };
    let error = complaint(
        "update-source = \"anything\"",
        "update-source = \"everything\"",
    );
    let place = line("update-source = \"anything\"");
    assert!(
        error.starts_with(&format!("my.toml:{place}:17: ")),
        "{error}"
    );
    assert!(
        error.contains(
            "transaction-snapshot, statement-snapshot, either-snapshot, current, anything"
        )
    );
    let error = complaint("update-source =", "update-sauce =");
    assert!(
        error.contains("\"update-sauce\"") && error.contains("update-source"),
        "{error}"
    );
    let error = complaint("insert-target = \"current\"\n", "");
    assert!(
        error.contains("no read mode for insert-target at read-uncommitted"),
        "{error}"
    );
    let error = complaint(
        "{ name = \"cte\", since = \"8.0.1\" }",
        "{ name = \"cte\", since = \"v8\" }",
    );
    assert!(error.contains("\"v8\" is no version"), "{error}");
    let error = complaint("name = \"cte\"", "name = \"ctes\"");
    let place = line("name = \"cte\"");
    assert_eq!(
        error,
        format!(
            "my.toml:{place}:12: capabilities: unknown capability \"ctes\": the nearest known one is \"cte\""
        )
    );
    let error = complaint("format = 1", "format = 2");
    assert!(error.contains("expected 1"), "{error}");
    let error = complaint("deadlock = [1213]", "dreadlock = [1213]");
    assert!(error.contains("\"dreadlock\""), "{error}");
    let error = complaint("format = 1", "format = 1\nunheard = 2");
    assert!(error.contains("unheard"), "{error}");
    let error = complaint("levels = [", "levels = ");
    assert!(error.starts_with("my.toml:"), "{error}");
}

#[test]
fn a_misspelt_consistency_model_is_refused_with_file_and_key() {
    let error = complaint("repeatable-read = \"cc\"", "repeatable-read = \"casual\"");
    assert!(error.starts_with("my.toml:"), "{error}");
    let expected =
        "promises.repeatable-read: unknown word \"casual\": one of rc, ra, cc, si, ser, sser";
    assert!(error.ends_with(expected), "{error}");
    // Also where the entry does not hold on this server.
    let text = builtin("mariadb").replacen("model = \"si\"", "model = \"is\"", 1);
    let error = parse("my.toml", &text, &ServerVersion(vec![11])).expect_err("no such model");
    let error = error.to_string();
    assert!(
        error.contains("promise-change.model: unknown word \"is\""),
        "{error}"
    );
}

#[test]
fn the_page_about_the_format_names_every_word() {
    let page = include_str!("../../docs/dialect-format.md");
    let words = Capability::ALL
        .iter()
        .map(|capability| capability.slug())
        .chain(Role::ALL.iter().map(|role| role.slug()))
        .chain(ErrorClass::ALL.iter().map(|class| class.slug()))
        .chain(IsolationLevel::ALL.iter().map(|level| level.slug()));
    for word in words {
        assert!(page.contains(&format!("`{word}`")), "{word}");
    }
    // And the other way: a key of the files that the page does not explain.
    for (name, text) in BUILTIN {
        for line in text.lines() {
            if let Some((key, _)) = line.split_once(" = ")
                && key.chars().all(|c| c.is_ascii_lowercase() || c == '-')
            {
                // Below `[known.<doubt>]` every key is a kind of statement.
                let by_kind = text.contains("[known.");
                let is_kind = by_kind && StatementKind::ALL.iter().any(|kind| kind.slug() == key);
                assert!(
                    is_kind || page.contains(&format!("`{key}`")),
                    "{name}: {key}"
                );
            }
        }
    }
}

#[test]
fn locks_are_promised_level_by_level() {
    use IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};
    let read = |name: &str, text: &str| parse(name, text, &ServerVersion(vec![99]));
    for engine in ["mariadb", "mysql"] {
        let dialect = read(engine, builtin(engine)).expect("the file");
        assert_eq!(dialect.lock_reach(ReadCommitted), Some(LockReach::Rows));
        assert_eq!(dialect.lock_reach(RepeatableRead), Some(LockReach::Ranges));
        assert_eq!(dialect.lock_reach(Serializable), Some(LockReach::Ranges));
    }
    let sqlite = read("sqlite", builtin("sqlite")).expect("the file");
    assert_eq!(sqlite.lock_reach(Serializable), None);
    let truth = "[locks]\nread-uncommitted = \"rows\"";
    let lying = builtin("mysql").replace(truth, "[locks]\nread-uncommitted = \"tables\"");
    let error = read("mysql", &lying)
        .expect_err("no such reach")
        .to_string();
    let message = "locks.read-uncommitted: unknown word \"tables\": one of rows, ranges";
    assert!(error.contains(message), "{error}");
}

#[test]
fn a_message_has_another_class_than_its_code() {
    let tidb = parse("tidb", builtin("tidb"), &ServerVersion(vec![8, 5])).expect("valid");
    let limit = "pessimistic lock retry limit reached";
    assert_eq!(tidb.class_of("1105", limit), ErrorClass::LockTimeout);
    assert_eq!(
        tidb.class_of("1105", "runtime error: index out of range"),
        ErrorClass::Other
    );
    assert_eq!(tidb.class_of("9007", limit), ErrorClass::Serialization);
}

#[test]
fn a_version_without_a_capability_says_why() {
    let why = |numbers: &[u32]| {
        let version = ServerVersion(numbers.to_vec());
        let tidb = parse("tidb", builtin("tidb"), &version).expect("valid");
        let is_there = tidb.supports(Capability::Cases);
        (is_there, tidb.why_not(Capability::Cases).map(str::to_owned))
    };
    for tried in [[8, 5, 4], [4, 0, 2]] {
        assert_eq!(why(&tried), (true, None));
    }
    let (is_there, why) = why(&[3, 0, 20]);
    assert!(!is_there && why.is_some_and(|why| why.contains("not tried on versions before 4.0")));
}
