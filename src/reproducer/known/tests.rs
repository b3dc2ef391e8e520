use std::collections::BTreeSet;

use super::entry::Comparison;
use super::*;
use crate::model::{Direction, FindingKind, IsolationLevel, StatementKind};
use crate::oracle::tell_alike;

const RULE: &str = r#"
format = 3
[[known]]
id = "MDEV-1"
status = "open"
engines = ["mariadb >=10.6 <11.8"]
match = { oracle = "txcheck", kind = "wrong-rows", levels = ["repeatable-read"], direction = ["lost"], statement = ["update"] }
fixed_in = ["mariadb 10.6.18", "mariadb 10.11.8"]
"#;

fn server(engine: &str, version: &str) -> Identity {
    Identity {
        engine: engine.to_owned(),
        version_text: version.to_owned(),
        version: version.parse().unwrap(),
        variables: std::collections::BTreeMap::new(),
        session_setup: Vec::new(),
        isolation_setup: std::collections::BTreeMap::new(),
    }
}

fn signature(kind: &str) -> Signature {
    Signature::new(
        "txcheck",
        FindingKind::from_slug(kind).expect("a kind"),
        vec!["REPEATABLE READ".to_owned()],
        vec!["differs:lost".to_owned(), "update".to_owned()],
    )
}

#[test]
fn a_fixed_release_makes_the_same_finding_a_regression() {
    let registry = Registry::read(RULE, "known.toml").unwrap();
    let judge = |version| registry.judge(&signature("wrong-rows"), &server("mariadb", version));
    assert!(matches!(judge("10.6.17"), Match::Known(_)));
    assert!(matches!(judge("10.6.18"), Match::Regression(_)));
    assert!(matches!(judge("10.11.7"), Match::Known(_)));
    assert!(matches!(judge("11.4.1"), Match::Regression(_)));
    assert!(matches!(judge("11.8.1"), Match::None));
    assert!(matches!(judge("10.5.12"), Match::None));
}

#[test]
fn errors_name_the_place_and_what_was_expected() {
    let check = |text: &str, expected: &str| {
        let error = Registry::read(text, "known.toml").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check("format = 4\n", "known.toml:1:10: format 4 is not known");
    // A file of an older program names the remedy, though its keys are others.
    let old = "format = 1\n[[known]]\nmatch = { kind = \"crash\", levels_any = [] }\n";
    check(old, "known.toml:1:10: format 1 is no longer read");
    check(
        old,
        "give each match an oracle, levels, direction and statement",
    );
    check(
        &RULE.replace("kind = \"wrong-rows\", ", ""),
        "known.toml:7:9: expected a kind",
    );
    check(
        &RULE.replace("oracle = \"txcheck\", ", ""),
        "known.toml:7:9: expected an oracle",
    );
    check(
        &RULE.replace("levels = [\"repeatable-read\"], ", ""),
        "known.toml:7:9: expected levels",
    );
    check(
        &RULE.replace("direction = [\"lost\"], ", ""),
        "known.toml:7:9: expected a direction and a statement",
    );
    check(
        &RULE.replace("\"lost\"", "\"stale\""),
        "unknown direction \"stale\": one of lost, extra",
    );
    check(
        &RULE.replace("\"open\"", "\"opn\""),
        "known.toml:5:10: unknown status \"opn\"",
    );
    check(
        &RULE.replace(">=10.6", "10.6"),
        "known.toml:6:12: expected an engine",
    );
    check(
        &RULE.replace("status", "state"),
        "known.toml:5:1: unknown field",
    );
    let example =
        "example = \"txcheck wrong-rows [REPEATABLE READ] differs:extra update\"\nfixed_in";
    check(
        &RULE.replace("fixed_in", example),
        "does not explain its own example",
    );
}

/// A registry that explains one group on any MariaDB.
fn by_signature(of: &Signature) -> String {
    format!(
        "format = 3\n[[known]]\nid = \"K\"\nstatus = \"open\"\nengines = [\"mariadb *\"]\n\
         match = {{ signature = {:?}, group = {:?} }}\n",
        of.id(),
        of.group()
    )
}

#[test]
fn an_entry_by_signature_explains_its_group_and_no_other() {
    let own = signature("wrong-rows");
    let registry = Registry::read(&by_signature(&own), "known.toml").unwrap();
    let explains = |signature: &Signature| {
        let server = server("mariadb", "11.4.2");
        matches!(registry.judge(signature, &server), Match::Known(_))
    };
    assert!(explains(&own));
    let (mut inside, mut outside) = (0, 0);
    for planted in planted(&own) {
        let is_own = planted.group() == own.group();
        assert_eq!(explains(&planted), is_own, "{}", planted.text());
        *(if is_own { &mut inside } else { &mut outside }) += 1;
    }
    assert!(inside >= 5 && outside >= 40, "{inside} {outside}");
}

/// Marking one of two groups hides that one alone, whichever they are.
#[test]
fn of_any_two_groups_an_entry_by_signature_explains_one() {
    let mut all: Vec<Signature> = builtin().into_iter().map(|(_, example)| example).collect();
    all = all.iter().flat_map(planted).chain(all.clone()).collect();
    let mut seen = BTreeSet::new();
    let is_new = |signature: &Signature| seen.insert(format!("{:?}", signature.group()));
    let groups: Vec<Signature> = all.into_iter().filter(is_new).collect();
    assert!(groups.len() >= 100, "{}", groups.len());
    // Of all pairs, by what an entry asks for; of some for each, by the registry itself.
    let ids: BTreeSet<String> = groups.iter().map(Signature::id).collect();
    assert_eq!(ids.len(), groups.len());
    let home = server("mariadb", "11.4.2");
    for (at, marked) in groups.iter().enumerate() {
        let registry = Registry::read(&by_signature(marked), "known.toml").unwrap();
        let others = groups.iter().cycle().skip(at).step_by(7).take(100);
        for other in others {
            let is_known = registry.find(other, &home).is_some();
            assert_eq!(is_known, marked == other, "{marked:?} {other:?}");
        }
    }
}

#[test]
fn errors_of_entries_by_signature_name_the_place_and_the_remedy() {
    let own = signature("wrong-rows");
    let (text, id) = (by_signature(&own), own.id());
    let check = |text: &str, expected: &str| {
        let error = Registry::read(text, "known.toml").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let beside = text.replace("{ signature", "{ kind = \"crash\", signature");
    check(&beside, "remove what stands beside it");
    check(&text.replace(&id, "8eee"), "eight hexadecimal digits");
    check(
        &text.replace(&id, "00000000"),
        &format!("this group has the signature {id:?}"),
    );
    let alone = text.replace(&format!("signature = {id:?}, "), "");
    check(&alone, "known.toml:6:19: expected the signature");
    // What an older program wrote named other findings.
    let old = text.replace("format = 3", "format = 2");
    check(&old, "known.toml:6:23: a signature of format 2 names");
    check(&old, "replay the case file");
    let without_group = format!("signature = {id:?}");
    let without = text.replace(
        &format!("{without_group}, group = {:?}", own.group()),
        &without_group,
    );
    assert!(Registry::read(&without, "known.toml").is_ok());
    assert!(Registry::read(&RULE.replace("format = 3", "format = 2"), "known.toml").is_ok());
}

/// Everything that the builtin registry knows, each entry with a finding that it explains.
fn builtin() -> Vec<(Known, Signature)> {
    let entries = Registry::builtin().unwrap().entries;
    let with_example = |known: Known| {
        let example = known.example.clone();
        let example = example.unwrap_or_else(|| panic!("{} has no example", known.id));
        (known, example)
    };
    entries.into_iter().map(with_example).collect()
}

/// A server on which an entry holds.
fn home(known: &Known) -> Identity {
    let first = &known.engines[0];
    // One that ends at a version has its home where it begins.
    let ended = first.bounds.iter().any(|(is, _)| *is == Comparison::Below);
    let begins = first
        .bounds
        .iter()
        .find(|(is, _)| *is == Comparison::AtLeast);
    let version = begins
        .filter(|_| ended)
        .map(|(_, version)| version.to_string());
    Identity {
        variables: known.rule.variables().clone(),
        ..server(&first.engine, version.as_deref().unwrap_or("9.7.4"))
    }
}

/// The features with one replaced or added, in order.
fn with(signature: &Signature, gone: Option<&String>, new: &str) -> Signature {
    let features: BTreeSet<String> = signature
        .features
        .iter()
        .filter(|feature| Some(*feature) != gone)
        .cloned()
        .chain([new.to_owned()])
        .filter(|feature| !feature.is_empty())
        .collect();
    Signature {
        features: features.into_iter().collect(),
        ..signature.clone()
    }
}

/// Words of other findings.
const FOREIGN: &[&str] = &[
    "indexed-stored-column",
    "partitioned-by-hash",
    "partitioned-by-range",
    "nowait",
    "semijoin",
    "resumed",
    "error:deadlock",
    "after-impossible-range",
    "committed:delete",
    "committed:insert",
    "rolled-back:update",
    "insert-select-source:current",
    "update-source:current",
    "whole-count",
    "against:update",
    "not-in-null",
    "distinct-antijoin",
    "indexed-groups",
    "or",
    "distinct-in-groups",
    "ordered-in-groups",
    "sets:join_buffer_size=128",
    "sets:optimizer_switch=mrr=on",
];

/// The finding with one thing changed: direction, kind, oracle, statement, level, a property of the table,
/// what others did, and a feature that the finding never had.
fn planted(of: &Signature) -> Vec<Signature> {
    let mut all = Vec::new();
    let direction = of.features.iter().find(|f| f.starts_with("differs:"));
    for other in Direction::ALL {
        all.push(with(of, direction, &format!("differs:{other}")));
    }
    let is_kind = |feature: &&String| StatementKind::ALL.iter().any(|k| k.slug() == **feature);
    let statement = of.features.iter().find(is_kind);
    for other in StatementKind::ALL {
        all.push(with(of, statement, other.slug()));
        all.push(with(of, None, other.slug()));
    }
    for kind in FindingKind::all() {
        all.push(Signature { kind, ..of.clone() });
    }
    for oracle in [
        "txcheck",
        "troc",
        "locks",
        "serial",
        "isolation",
        "history",
        "crash",
    ] {
        let oracle = oracle.to_owned();
        all.push(Signature {
            oracle,
            ..of.clone()
        });
    }
    let levels = IsolationLevel::ALL.iter().map(ToString::to_string);
    let claimed = "READ COMMITTED claimed SERIALIZABLE".to_owned();
    for level in levels.chain([claimed, String::new()]) {
        let mut levels = of.levels.clone();
        all.push(Signature {
            levels: vec![level.clone()],
            ..of.clone()
        });
        levels.push(level);
        all.push(Signature {
            levels,
            ..of.clone()
        });
    }
    for gone in &of.features {
        all.push(with(of, Some(gone), ""));
    }
    for foreign in FOREIGN {
        all.push(with(of, None, foreign));
    }
    all.retain(|planted| planted != of);
    all
}

#[test]
fn no_entry_explains_the_finding_of_another_entry() {
    let all = builtin();
    for (known, example) in &all {
        assert!(known.explains(example, &home(known)), "{}", known.id);
        for (other, _) in all.iter().filter(|(other, _)| other.id != known.id) {
            assert!(
                !other.rule.has_shape(example),
                "{} explains {}",
                other.id,
                known.id
            );
        }
    }
}

/// What an entry explains of the planted differences is what it lists itself, and nothing else.
#[test]
fn no_entry_explains_a_planted_difference_that_it_does_not_list() {
    let (mut differences, mut explained) = (0, BTreeSet::new());
    for (known, example) in builtin() {
        let home = home(&known);
        let serializable = ["SERIALIZABLE".to_owned()];
        let weak = ["READ UNCOMMITTED".to_owned(), "READ COMMITTED".to_owned()];
        for planted in planted(&example) {
            differences += 1;
            if !known.explains(&planted, &home) {
                continue;
            }
            let text = format!("{} explains {}", known.id, planted.text());
            assert!(tell_alike(&planted.oracle, &example.oracle), "{text}");
            assert_eq!(planted.kind, example.kind, "{text}");
            let claimed = |level: &String| level.is_empty() || level.contains("claimed");
            assert!(!planted.levels.iter().any(claimed), "{text}");
            let serial = planted
                .levels
                .iter()
                .all(|level| serializable.contains(level));
            assert!(example.oracle != "serial" || serial, "{text}");
            let join_update = known.id == "unfiled:mysql-join-update-semijoin";
            let below = planted.levels.iter().all(|level| weak.contains(level));
            assert!(!join_update || below, "{text}");
            let only_in = |a: &Signature, b: &Signature, sign: char| {
                let only = a.features.iter().filter(|f| !b.features.contains(f));
                only.map(|feature| format!(" {sign}{feature}"))
                    .collect::<String>()
            };
            let (gone, new) = (
                only_in(&example, &planted, '-'),
                only_in(&planted, &example, '+'),
            );
            if planted.levels == example.levels && planted.features != example.features {
                explained.insert(format!("{}:{gone}{new}", known.id));
            }
        }
    }
    assert!(differences >= 200, "{differences}");
    assert_eq!(explained.into_iter().collect::<Vec<_>>(), LISTED);
}

/// Every variation of an example that an entry lists, beside levels.
const LISTED: &[&str] = &[
    "TiDB#18814: -alone",
    "TiDB#18814: -differs:changed +differs:extra",
    "TiDB#18814: -differs:changed +differs:lost",
    "TiDB#18814: -plain-select:transaction-snapshot",
    "TiDB#18814: -select +locking-select",
    "TiDB#18814: -update +delete",
    "TiDB#18814: -update-target:transaction-snapshot",
    "TiDB#19104: +or",
    "TiDB#19104: -alone",
    "TiDB#19104: -plain-select:statement-snapshot",
    "TiDB#19104: -select +locking-select",
    "TiDB#19104: -semijoin",
    "TiDB#19104: -update +delete",
    "TiDB#19104: -update-source:transaction-snapshot",
    "TiDB#19104: -update-target:transaction-snapshot",
    "TiDB#19136: +or",
    "TiDB#19136: +semijoin",
    "TiDB#19136: -alone",
    "TiDB#19136: -differs:nulled +differs:changed",
    "TiDB#19136: -differs:nulled +differs:lost",
    "TiDB#19136: -limit",
    "TiDB#19136: -order-by",
    "TiDB#19136: -plain-select:transaction-snapshot",
    "TiDB#19136: -select +locking-select",
    "TiDB#20400: -alone",
    "TiDB#20400: -limit",
    "TiDB#20400: -order-by",
    "TiDB#20400: -plain-select:transaction-snapshot",
    "TiDB#20400: -select +locking-select",
    "TiDB#20400: -update +delete",
    "TiDB#20400: -update-source:transaction-snapshot",
    "TiDB#20400: -update-target:transaction-snapshot",
    "TiDB#21447: +committed:insert",
    "TiDB#21447: +delete",
    "TiDB#21447: +distinct-in-groups",
    "TiDB#21447: +insert",
    "TiDB#21447: +insert-select",
    "TiDB#21447: +or",
    "TiDB#21447: +partitioned-by-hash",
    "TiDB#21447: +partitioned-by-range",
    "TiDB#21447: +replace",
    "TiDB#21447: +resumed",
    "TiDB#21447: +rolled-back:update",
    "TiDB#21447: +semijoin",
    "TiDB#21447: -differs:lost +differs:changed",
    "TiDB#21447: -differs:lost +differs:extra",
    "TiDB#21447: -update",
    "TiDB#31286: +committed:delete",
    "TiDB#31286: +committed:insert",
    "TiDB#31286: +or",
    "TiDB#31286: +rolled-back:update",
    "TiDB#31286: +semijoin",
    "TiDB#31286: -alone",
    "TiDB#31286: -differs:changed +differs:extra",
    "TiDB#31286: -differs:changed +differs:lost",
    "TiDB#31286: -differs:changed +differs:order",
    "TiDB#31286: -plain-select:transaction-snapshot",
    "TiDB#31286: -select +locking-select",
    "unfiled:innodb-index-merge-skip-locked: +indexed-stored-column",
    "unfiled:innodb-padded-text: -select +locking-select",
    "unfiled:mariadb-delete-returning-count: -alone",
    "unfiled:mariadb-filesort-virtual-column: +committed:delete",
    "unfiled:mariadb-filesort-virtual-column: +committed:insert",
    "unfiled:mariadb-filesort-virtual-column: +partitioned-by-hash",
    "unfiled:mariadb-filesort-virtual-column: +partitioned-by-range",
    "unfiled:mariadb-filesort-virtual-column: +rolled-back:update",
    "unfiled:mariadb-filesort-virtual-column: -alone",
    "unfiled:mariadb-filesort-virtual-column: -committed:update",
    "unfiled:mariadb-filesort-virtual-column: -differs:changed +differs:higher",
    "unfiled:mariadb-filesort-virtual-column: -differs:changed +differs:lost",
    "unfiled:mariadb-filesort-virtual-column: -differs:changed +differs:lower",
    "unfiled:mariadb-filesort-virtual-column: -differs:lost +differs:changed",
    "unfiled:mariadb-filesort-virtual-column: -differs:lost +differs:lower",
    "unfiled:mariadb-filesort-virtual-column: -differs:lost +differs:nulled",
    "unfiled:mariadb-filesort-virtual-column: -insert-select +replace",
    "unfiled:mariadb-filesort-virtual-column: -insert-target:current",
    "unfiled:mariadb-filesort-virtual-column: -partitioned-by-hash",
    "unfiled:mariadb-group-concat-namesake: +committed:insert",
    "unfiled:mariadb-group-concat-namesake: +distinct-in-groups",
    "unfiled:mariadb-group-concat-namesake: +or",
    "unfiled:mariadb-group-concat-namesake: +rolled-back:update",
    "unfiled:mariadb-group-concat-namesake: +semijoin",
    "unfiled:mariadb-group-concat-namesake: -committed:delete",
    "unfiled:mariadb-group-concat-namesake: -plain-select:transaction-snapshot",
    "unfiled:mariadb-group-concat-namesake: -select +locking-select",
    "unfiled:mariadb-partitioned-limit: +committed:delete",
    "unfiled:mariadb-partitioned-limit: +partitioned-by-range",
    "unfiled:mariadb-partitioned-limit: +resumed",
    "unfiled:mariadb-partitioned-limit: -delete +update",
    "unfiled:mariadb-partitioned-limit: -delete-target:current",
    "unfiled:mariadb-partitioned-limit: -differs:lower +differs:higher",
    "unfiled:mariadb-partitioned-limit: -update-target:current",
    "unfiled:mariadb-purge-corrupts-virtual-index: +committed:delete",
    "unfiled:mariadb-purge-corrupts-virtual-index: +committed:insert",
    "unfiled:mariadb-purge-corrupts-virtual-index: +distinct-in-groups",
    "unfiled:mariadb-purge-corrupts-virtual-index: +insert-select-source:current",
    "unfiled:mariadb-purge-corrupts-virtual-index: +or",
    "unfiled:mariadb-purge-corrupts-virtual-index: +resumed",
    "unfiled:mariadb-purge-corrupts-virtual-index: +rolled-back:update",
    "unfiled:mariadb-purge-corrupts-virtual-index: +semijoin",
    "unfiled:mariadb-purge-corrupts-virtual-index: +update-source:current",
    "unfiled:mariadb-purge-corrupts-virtual-index: -alone",
    "unfiled:mariadb-purge-corrupts-virtual-index: -delete +insert-select",
    "unfiled:mariadb-purge-corrupts-virtual-index: -delete +locking-select",
    "unfiled:mariadb-purge-corrupts-virtual-index: -delete +select",
    "unfiled:mariadb-purge-corrupts-virtual-index: -delete +update",
    "unfiled:mariadb-purge-corrupts-virtual-index: -differs:refused +differs:other-error",
    "unfiled:mariadb-purge-corrupts-virtual-index: -indexed-virtual-column",
    "unfiled:mariadb-purge-corrupts-virtual-index: -limit",
    "unfiled:mariadb-purge-corrupts-virtual-index: -order-by",
    "unfiled:mariadb-purge-corrupts-virtual-index: -plain-select:statement-snapshot",
    "unfiled:mariadb-purge-corrupts-virtual-index: -select +delete",
    "unfiled:mariadb-purge-corrupts-virtual-index: -select +insert-select",
    "unfiled:mariadb-purge-corrupts-virtual-index: -select +locking-select",
    "unfiled:mariadb-purge-corrupts-virtual-index: -select +update",
    "unfiled:mysql-cascade-deadlock: -delete +update",
    "unfiled:mysql-cascade-deadlock: -insert +delete",
    "unfiled:mysql-cascade-deadlock: -insert +insert-select",
    "unfiled:mysql-cascade-deadlock: -insert +replace",
    "unfiled:mysql-cascade-deadlock: -insert +update",
    "unfiled:mysql-cascade-deadlock: -open:insert",
    "unfiled:mysql-cascade-deadlock: -open:locking-select",
    "unfiled:mysql-cascade-deadlock: -open:update",
    "unfiled:mysql-cascade-deadlock: -several-rows",
    "unfiled:mysql-count-nowait: +against:update",
    "unfiled:mysql-count-nowait: -locking-select:current",
    "unfiled:mysql-hypergraph-not-in-null: +committed:delete",
    "unfiled:mysql-hypergraph-not-in-null: +committed:insert",
    "unfiled:mysql-hypergraph-not-in-null: +rolled-back:update",
    "unfiled:mysql-hypergraph-not-in-null: -differs:extra +differs:changed",
    "unfiled:mysql-hypergraph-not-in-null: -differs:extra +differs:higher",
    "unfiled:mysql-hypergraph-not-in-null: -plain-select:statement-snapshot",
    "unfiled:mysql-hypergraph-not-in-null: -rolled-back:insert",
    "unfiled:mysql-hypergraph-not-in-null: -select +delete",
    "unfiled:mysql-hypergraph-not-in-null: -select +locking-select",
    "unfiled:mysql-hypergraph-not-in-null: -select +update",
    "unfiled:mysql-hypergraph-not-in-null: -update +delete",
    "unfiled:mysql-hypergraph-not-in-null: -update-target:current",
    "unfiled:mysql-hypergraph-update-limit: +resumed",
    "unfiled:mysql-hypergraph-update-limit: -order-by",
    "unfiled:mysql-hypergraph-update-limit: -update-target:current",
    "unfiled:mysql-join-update-semijoin: -update-target:current",
    "unfiled:mysql-replace-cascade: +committed:delete",
    "unfiled:mysql-replace-cascade: +committed:insert",
    "unfiled:mysql-replace-cascade: +resumed",
    "unfiled:mysql-replace-cascade: +rolled-back:update",
    "unfiled:mysql-replace-cascade: -committed:insert",
    "unfiled:mysql-replace-cascade: -committed:update",
    "unfiled:mysql-replace-cascade: -differs:lost +differs:changed",
    "unfiled:mysql-replace-cascade: -differs:lost +differs:extra",
    "unfiled:mysql-replace-cascade: -foreign-key-child:current",
    "unfiled:mysql-replace-cascade: -foreign-key-target:current",
    "unfiled:postgresql-antijoin-recheck: +or",
    "unfiled:postgresql-antijoin-recheck: +semijoin",
    "unfiled:postgresql-antijoin-recheck: -delete-source:statement-snapshot",
    "unfiled:postgresql-antijoin-recheck: -delete-target:statement-snapshot",
    "unfiled:postgresql-antijoin-recheck: -update-source:statement-snapshot",
    "unfiled:postgresql-antijoin-recheck: -update-target:statement-snapshot",
    "unfiled:tidb-absent-key-list: +committed:delete",
    "unfiled:tidb-absent-key-list: +or",
    "unfiled:tidb-absent-key-list: +resumed",
    "unfiled:tidb-absent-key-list: +rolled-back:update",
    "unfiled:tidb-absent-key-list: -locking-select:current",
    "unfiled:tidb-absent-key-list: -update +delete",
    "unfiled:tidb-absent-key-list: -update-target:current",
    "unfiled:tidb-endless-backward-scan: -select +delete",
    "unfiled:tidb-endless-backward-scan: -select +insert-select",
    "unfiled:tidb-endless-backward-scan: -select +update",
    "unfiled:tidb-init-chunk-delete: -alone",
    "unfiled:tidb-insert-over-locked-row: +delete",
    "unfiled:tidb-insert-over-locked-row: +insert-select",
    "unfiled:tidb-insert-over-locked-row: +update",
    "unfiled:tidb-insert-over-locked-row: -insert +delete",
    "unfiled:tidb-insert-over-locked-row: -insert +insert-select",
    "unfiled:tidb-insert-over-locked-row: -insert +update",
    "unfiled:tidb-locked-absent-key: +committed:delete",
    "unfiled:tidb-locked-absent-key: +committed:insert",
    "unfiled:tidb-locked-absent-key: +resumed",
    "unfiled:tidb-locked-absent-key: +rolled-back:update",
    "unfiled:tidb-locked-absent-key: -committed:update",
    "unfiled:tidb-locked-absent-key: -insert +replace",
    "unfiled:tidb-own-null-groups: +committed:insert",
    "unfiled:tidb-own-null-groups: +partitioned-by-hash",
    "unfiled:tidb-own-null-groups: -alone",
    "unfiled:tidb-own-null-groups: -plain-select:transaction-snapshot",
    "unfiled:tidb-unistore-backward-scan: +committed:delete",
    "unfiled:tidb-unistore-backward-scan: +committed:insert",
    "unfiled:tidb-unistore-backward-scan: +delete",
    "unfiled:tidb-unistore-backward-scan: +indexed-stored-column",
    "unfiled:tidb-unistore-backward-scan: +insert",
    "unfiled:tidb-unistore-backward-scan: +insert-select",
    "unfiled:tidb-unistore-backward-scan: +or",
    "unfiled:tidb-unistore-backward-scan: +partitioned-by-hash",
    "unfiled:tidb-unistore-backward-scan: +partitioned-by-range",
    "unfiled:tidb-unistore-backward-scan: +replace",
    "unfiled:tidb-unistore-backward-scan: +resumed",
    "unfiled:tidb-unistore-backward-scan: +rolled-back:update",
    "unfiled:tidb-unistore-backward-scan: +semijoin",
    "unfiled:tidb-unistore-backward-scan: -differs:changed +differs:extra",
    "unfiled:tidb-unistore-backward-scan: -differs:changed +differs:higher",
    "unfiled:tidb-unistore-backward-scan: -differs:changed +differs:lost",
    "unfiled:tidb-unistore-backward-scan: -differs:changed +differs:lower",
    "unfiled:tidb-unistore-backward-scan: -differs:changed +differs:nulled",
    "unfiled:tidb-unistore-backward-scan: -differs:changed +differs:padded",
    "unfiled:tidb-unistore-backward-scan: -order-by",
    "unfiled:tidb-unistore-backward-scan: -update",
    "unfiled:tidb-unistore-orphan: +insert",
    "unfiled:tidb-unistore-orphan: +insert-select",
    "unfiled:tidb-unistore-orphan: +replace",
    "unfiled:tidb-unistore-orphan: -delete",
    "unfiled:tidb-unistore-orphan: -delete +insert",
    "unfiled:tidb-unistore-orphan: -delete +insert-select",
    "unfiled:tidb-unistore-orphan: -delete +replace",
    "unfiled:tidb-unistore-orphan: -update",
    "unfiled:tidb-upsert-on-the-snapshot: -several-rows",
];
