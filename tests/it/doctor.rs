//! `doctor` says what keeps `fuzz` from starting, and is right about it.

use rashomon::engine::{self, Connection, OpenOptions};
use serde_json::Value as Json;

use crate::commands::assert_described_as;
use crate::engine_faults::OwnServer;
use crate::program::{Ran, run};
use crate::servers::{Needs, url};

fn summary(ran: &Ran) -> Json {
    let last = ran.out.lines().last().expect("a last line");
    let json: Json = serde_json::from_str(last).unwrap_or_else(|error| panic!("{last}: {error}"));
    assert_eq!(json["event"], "summary", "{last}");
    assert_described_as("doctor", &ran.out);
    json
}

#[test]
fn sqlite_is_ready_and_every_line_says_why() {
    let ran = run(&["doctor", "sqlite:"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(ran.out.lines().last(), Some("ready to fuzz"), "{}", ran.out);
    for topic in [
        "connection",
        "version",
        "safety",
        "databases",
        "disk",
        "oracle",
    ] {
        let has = |line: &str| line.split_whitespace().nth(1) == Some(topic);
        assert!(ran.out.lines().any(has), "{topic}: {}", ran.out);
    }
    let text = "locks: does not apply here: ";
    assert!(ran.out.contains(text), "{}", ran.out);
    let ran = run(&["doctor", "sqlite:", "--format", "json"]);
    let lines = ran.out.lines().map(serde_json::from_str::<Json>);
    let lines: Vec<Json> = lines.collect::<Result<_, _>>().expect("JSON lines");
    for (name, applies) in [("locks", false), ("txcheck", true)] {
        let line = lines.iter().find(|line| line["name"] == name);
        assert_eq!(line.expect("a line")["applies"], applies, "{name}");
    }
    let summary = summary(&ran);
    assert_eq!(summary["ready"], true, "{summary}");
    assert_eq!(summary["missing"], Json::Array(Vec::new()), "{summary}");
}

#[test]
fn a_server_that_is_not_there_is_an_environment_error_in_both_formats() {
    let target = "mysql://root@127.0.0.1:1";
    let ran = run(&["doctor", target]);
    assert_eq!(ran.code, Some(5), "{}{}", ran.out, ran.err);
    let last = ran.out.lines().last();
    assert_eq!(last, Some("not ready to fuzz: 1 thing to mend: connection"));
    let ran = run(&["doctor", target, "--format", "json"]);
    assert_eq!(ran.code, Some(5), "{}{}", ran.out, ran.err);
    assert_eq!(summary(&ran)["missing"][0], "connection");
}

/// Everything that `fuzz` needs, taken away from a login one by one. Each time `doctor` must say
/// so, and `fuzz` must end with the same code.
#[test]
fn what_doctor_misses_is_what_ends_fuzz() {
    // The URL is not used: it tells that tests with servers are wanted on this machine.
    if url("what_doctor_misses_is_what_ends_fuzz", Needs::MariaDb).is_none() {
        return;
    }
    let own = OwnServer {
        instance: "-doctor",
    };
    let root_url = own.script("up");
    let server = engine::open(&root_url, &OpenOptions::default()).expect("open");
    let database = "rashomon_doctortest";
    server.create_database(database).expect("create");
    let mut root = server.connect(database).expect("connect");
    let address = root_url.split('@').nth(1).expect("an address");
    let target = format!("mariadb://modest@{address}");
    send(&mut *root, "CREATE USER 'modest'@'%'");
    send(&mut *root, "CREATE USER 'modest'@'localhost'");

    let missing = || missing_of(&target, "1");
    assert_eq!(missing(), ["databases", "privilege"]);
    grant(&mut *root, "ALL ON `rashomon\\_%`.*");
    assert_eq!(missing(), ["privilege"]);
    grant(&mut *root, "PROCESS ON *.*");
    assert_eq!(missing(), [""; 0]);

    send(&mut *root, "SET GLOBAL read_only = ON");
    assert_eq!(missing(), ["databases", "read-only"]);
    let told = run(&["doctor", &target]).out;
    assert!(told.contains("SET GLOBAL read_only = OFF"), "{told}");
    let fuzzed = run(&["fuzz", &target, "--cases", "1"]);
    assert_eq!(fuzzed.code, Some(5), "{}{}", fuzzed.out, fuzzed.err);
    assert!(
        fuzzed.err.contains("SET GLOBAL read_only = OFF"),
        "{}",
        fuzzed.err
    );
    // Root may write all the same.
    assert_eq!(missing_of(&root_url, "1"), [""; 0]);
    send(&mut *root, "SET GLOBAL read_only = OFF");

    send(&mut *root, "SET GLOBAL max_connections = 30");
    assert_eq!(missing_of(&target, "1"), [""; 0]);
    assert_eq!(missing_of(&target, "8"), ["connections"]);

    send(&mut *root, "CREATE DATABASE prod");
    let ran = run(&["doctor", &root_url]);
    assert_eq!(ran.code, Some(6), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("prod"), "{}", ran.out);
    assert_eq!(run(&["fuzz", &root_url, "--cases", "1"]).code, Some(6));
    let ran = run(&["doctor", &root_url, "--allow-shared-server"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let left = server.leftovers().expect("leftovers");
    assert!(
        left.iter().all(|left| !left.database.contains("doctor_")),
        "{left:?}"
    );
}

fn send(connection: &mut dyn Connection, sql: &str) {
    let outcome = connection.execute(sql).expect("an answer");
    assert!(outcome.error_class().is_none(), "{sql}: {outcome:?}");
}

fn grant(connection: &mut dyn Connection, what: &str) {
    for host in ["%", "localhost"] {
        send(connection, &format!("GRANT {what} TO 'modest'@'{host}'"));
    }
}

/// The topics that are missing, each once, and proof that exit code and verdict say the same.
fn missing_of(target: &str, workers: &str) -> Vec<String> {
    let ran = run(&["doctor", target, "--workers", workers, "--format", "json"]);
    let summary = summary(&ran);
    let missing = summary["missing"].as_array().expect("a list");
    let mut topics: Vec<String> = missing
        .iter()
        .map(|topic| topic.as_str().expect("a text").to_owned())
        .collect();
    topics.dedup();
    let code = if topics.is_empty() { 0 } else { 5 };
    assert_eq!(ran.code, Some(code), "{}{}", ran.out, ran.err);
    assert_eq!(summary["ready"], topics.is_empty(), "{summary}");
    topics
}
