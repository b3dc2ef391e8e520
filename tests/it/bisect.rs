//! `rashomon bisect`: a case on servers that show it and servers that do not.

use serde_json::Value as Json;

use crate::plant::{Fault, Plant, PlantedServer, Rate};
use crate::program::{Ran, folder, run, write};
use crate::servers::{Needs, url};

/// A commit beside a reader: refused with the rollback journal, taken with the write-ahead log.
const BESIDE_A_READER: &str = "--! format = 1
--! engine = \"sqlite\"
--! isolation = \"SERIALIZABLE\"
--! reproduced = \"10/10\"
/* init */ CREATE TABLE t (a INT);
/* init */ INSERT INTO t VALUES (1);
/* s1 */ BEGIN;
/* s1 */ SELECT a FROM t;
/* s2 */ UPDATE t SET a = 2; -- @expect error busy
/* s1 */ COMMIT;
";

const REFUSES: &str = "sqlite:?journal=delete";
const TAKES: &str = "sqlite:";

fn lines(ran: &Ran) -> Vec<Json> {
    let lines = ran.out.lines().map(serde_json::from_str);
    lines.map(|line| line.expect("a line of JSON")).collect()
}

#[test]
fn where_a_case_begins_and_ends_is_told_of_every_server_in_order() {
    let place = folder();
    let file = write(&place, "case.sql", BESIDE_A_READER);
    let servers = format!("{REFUSES},{TAKES},{REFUSES}");
    let ran = run(&["bisect", &file, "--versions", &servers, "--format", "json"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    let lines = lines(&ran);
    let results: Vec<&Json> = lines.iter().map(|line| &line["result"]).collect();
    assert_eq!(results[..3], ["clean", "shows", "clean"], "{}", ran.out);
    // As many clean runs as 10 of 10 asks for, and one that shows it.
    assert_eq!(
        (&lines[0]["hits"], &lines[0]["runs"]),
        (&0.into(), &5.into())
    );
    assert_eq!(
        (&lines[1]["hits"], &lines[1]["runs"]),
        (&1.into(), &1.into())
    );
    let changes = lines[3]["changes"].as_array().expect("a list");
    let words: Vec<&Json> = changes.iter().map(|change| &change["change"]).collect();
    assert_eq!(words, ["begins", "ends"], "{}", ran.out);
    assert_ne!(
        changes[1]["to"], changes[0]["from"],
        "servers of one version are told apart"
    );

    let human = run(&[
        "bisect",
        &file,
        "--versions",
        REFUSES,
        TAKES,
        "--times",
        "7",
    ]);
    assert_eq!(human.code, Some(1), "{}", human.err);
    for words in ["0 of 7 runs", "7 of 7 runs", "it begins between sqlite "] {
        assert!(human.out.contains(words), "no {words}: {}", human.out);
    }
}

#[test]
fn exit_codes_tell_nowhere_too_few_runs_and_a_server_that_is_not_there() {
    let place = folder();
    let file = write(&place, "case.sql", BESIDE_A_READER);
    let ended = |more: &[&str]| run(&[&["bisect", &file, "--versions"], more].concat());
    let nowhere = ended(&[REFUSES, REFUSES]);
    assert_eq!(nowhere.code, Some(0), "{}{}", nowhere.out, nowhere.err);
    assert!(
        nowhere.out.contains("it shows on none of 2 servers"),
        "{}",
        nowhere.out
    );
    let too_few = ended(&[REFUSES, "--times", "2"]);
    assert_eq!(too_few.code, Some(3), "{}{}", too_few.out, too_few.err);
    assert!(
        too_few.out.contains("5 clean runs would be needed"),
        "{}",
        too_few.out
    );
    let away = ended(&["mysql://root@127.0.0.1:1", TAKES]);
    assert_eq!(away.code, Some(5), "{}{}", away.out, away.err);
    for words in ["server 1", "unreachable", "shows"] {
        assert!(away.out.contains(words), "no {words}: {}", away.out);
    }
    let wrong = ended(&["localhost:3306"]);
    assert_eq!(wrong.code, Some(2), "{}{}", wrong.out, wrong.err);
}

#[test]
fn a_fault_before_one_of_two_servers_is_found_there() {
    let test = "a_fault_before_one_of_two_servers_is_found_there";
    let Some(url) = url(test, Needs::MariaDb) else {
        return;
    };
    let plant = Plant {
        fault: Fault::CountOffByOne,
        rate: Rate::Always,
    };
    let planted = PlantedServer::before(&url, plant);
    let case = "--! format = 1
--! engine = \"mariadb\"
--! isolation = \"READ COMMITTED\"
--! reproduced = \"10/10\"
/* init */ CREATE TABLE t (a INT PRIMARY KEY, b INT) ENGINE=InnoDB;
/* init */ INSERT INTO t VALUES (1, 1), (2, 2);
/* s1 */ BEGIN;
/* s1 */ SELECT b FROM t WHERE a = 2;
/* s2 */ BEGIN;
/* s2 */ UPDATE t SET b = 5 WHERE a = 1; -- @expect affected 1
/* s2 */ COMMIT;
/* s1 */ COMMIT;
";
    let place = folder();
    let file = write(&place, "case.sql", case);
    let servers = ["bisect", &file, "--versions", &url, &planted.url];
    let more = ["--allow-shared-server", "--format", "json"];
    let ran = run(&[&servers[..], &more].concat());
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    let lines = lines(&ran);
    assert_eq!(lines[0]["result"], "clean", "{}", ran.out);
    assert_eq!(lines[1]["result"], "shows", "{}", ran.out);
    assert_eq!(lines[2]["changes"][0]["change"], "begins", "{}", ran.out);
}
