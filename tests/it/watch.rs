//! `watch`: what comes through a pipe, a socket and a file that grows.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rashomon::engine;
use rashomon::model::Outcome;

use crate::commands::assert_described_as;
use crate::program::{Ran, assert_documented, folder, program, ran, run, shown, summary, write};
use crate::servers::{Needs, url};

const VALID: &str = "#! rashomon history 1\ninitial 0\n\
                     committed 2 @3..4 r(x,1) r(y,0)\n\
                     committed 1 @1..2 r(x,0) w(x,1)\n\
                     aborted 3 w(y,9)\n";

/// Watches what comes from standard input.
fn piped(text: &str, arguments: &[&str]) -> Ran {
    let mut command = program(&[&["watch", "-"], arguments].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut stream = child.stdin.take().expect("a pipe");
    stream.write_all(text.as_bytes()).expect("it reads");
    drop(stream);
    ran(&child.wait_with_output().expect("it ends"))
}

/// Sends a signal, by its option of `kill`.
#[cfg(unix)]
fn signal(child: &Child, option: &str) {
    let kill = Command::new("kill")
        .args([option, &child.id().to_string()])
        .status();
    assert!(kill.expect("kill is there").success());
}

#[test]
fn watch_judges_a_pipe_at_its_end() {
    let ran = piped(VALID, &["--model", "si", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_described_as("watch", &ran.out);
    let told = summary(&ran);
    assert_eq!(told["verdict"], "satisfied");
    assert_eq!(told["flip_flops"], 1, "the read came before what it read");
    assert_eq!([&told["transactions"], &told["events"]], [3, 5]);
    assert!(
        told["peak_rss_mb"].is_u64() && told["tps"].is_u64(),
        "{told}"
    );
}

#[test]
fn watch_explains_a_violation_and_exits_1() {
    let text = format!("{VALID}committed 4 @5..6 r(x,0) w(y,1)\ncommitted 5 @5..7 w(y,2)\n");
    let ran = piped(&text, &["--model", "si"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(
        ran.out
            .contains("noconflict: T4 and T5 overlap and both write y"),
        "{}",
        ran.out
    );
    assert!(
        ran.out
            .contains("ext: T4 reads 0 for x, where T2 had left 1"),
        "{}",
        ran.out
    );
    let ran = piped(&text, &["--model", "ser", "--format", "json"]);
    assert_eq!(summary(&ran)["anomalies"], serde_json::json!({"ext": 1}));
    assert_documented(&ran);
    assert_described_as("watch", &ran.out);
}

#[test]
fn watch_exits_3_without_a_verdict_and_4_for_an_empty_history() {
    let text = format!("{VALID}committed 4 w(z,1)\n");
    let ran = piped(&text, &["--model", "si", "--format", "json"]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    assert_described_as("watch", &ran.out);
    assert_eq!(summary(&ran)["unjudged"]["committed without timestamps"], 1);
    let folder = folder();
    let empty = write(&folder, "empty", "#! rashomon history 1\n");
    let ran = run(&["watch", &empty, "--model", "si", "--idle", "0s"]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("unknown"), "{}", ran.out);
    assert!(
        ran.out.contains("; there is no transaction in it"),
        "{}",
        ran.out
    );
}

#[test]
fn watch_reports_an_ill_formed_line_after_the_certain_verdicts_and_exits_2() {
    let text = format!("{VALID}committed 4 @5..6 w(y,1) r(y,2)\ncommitted 5 @5..6 w(y;2)\n");
    let ran = piped(&text, &["--model", "si"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(
        ran.err.contains("line 7, column 22: expected ','"),
        "{}",
        ran.err
    );
    assert!(
        ran.out.contains("T4 reads 2 for y, where it had written 1"),
        "{}",
        ran.out
    );
    let ran = piped("#! rashomon history 1\norder(x) 1 2\n", &["--model", "si"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("cannot hold lists"), "{}", ran.err);
    assert_eq!(ran.out, "", "nothing was judged");
    // Of a list that is no register nothing is judged.
    let lists = "#! rashomon history 1\ncommitted 1 @1..2 w(x,1) r(x,[1])\n";
    let ran = piped(lists, &["--model", "si"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert_eq!(ran.out, "", "nothing was judged");
    let foreign = "{:type :ok, :f :txn, :value [[:w 1 1]]}\n";
    let ran = piped(foreign, &["--model", "si", "--format", "json"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("the first line must be"), "{}", ran.err);
    assert_eq!(ran.out, "", "nothing was judged");
    let ran = run(&["watch", "-", "--model", "rc"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
}

#[test]
fn a_file_is_followed_until_it_does_not_grow() {
    let folder = folder();
    let path = write(&folder, "growing", VALID);
    let arguments = [
        "watch", &path, "--model", "si", "--idle", "3s", "--format", "json",
    ];
    let mut command = program(&arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    std::thread::sleep(Duration::from_millis(500));
    let mut file = OpenOptions::new()
        .append(true)
        .open(&path)
        .expect("it is there");
    file.write_all(b"committed 4 @5..6 r(x,").expect("written");
    std::thread::sleep(Duration::from_millis(500));
    file.write_all(b"1)\ncommitted 5 @7..8 r(x,1)\n")
        .expect("written");
    let ran = ran(&child.wait_with_output().expect("it ends"));
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(summary(&ran)["transactions"], 5);
}

/// Interrupts who watches a history that has not come to its end, and has been told this much.
#[cfg(unix)]
fn interrupted(text: &str, option: &str) -> Ran {
    let mut command = program(&["watch", "-", "--model", "si"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut stream = child.stdin.take().expect("a pipe");
    stream.write_all(text.as_bytes()).expect("it reads");
    std::thread::sleep(Duration::from_secs(1));
    signal(&child, option);
    let ended = child.wait_with_output().expect("it ends");
    drop(stream);
    ran(&ended)
}

#[cfg(unix)]
#[test]
fn an_interrupted_watch_exits_by_its_verdicts() {
    for (option, code) in [("-INT", 130), ("-TERM", 143)] {
        let ran = interrupted(VALID, option);
        assert_eq!(ran.code, Some(code), "{}{}", ran.out, ran.err);
        assert!(ran.out.contains("unknown"), "{}", ran.out);
        assert!(ran.out.contains("; interrupted before"), "{}", ran.out);
        // It is wrong whatever comes after it.
        let broken = format!("{VALID}committed 4 @5..6 w(y,1) r(y,2)\n");
        let ran = interrupted(&broken, option);
        assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
        assert!(ran.out.contains("violated"), "{}", ran.out);
    }
}

#[cfg(unix)]
#[test]
fn a_read_does_not_wait_while_the_program_is_stopped() {
    let mut command = program(&["watch", "-", "--model", "si", "--timeout", "2s"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut stream = child.stdin.take().expect("a pipe");
    let mut told = BufReader::new(child.stdout.take().expect("a pipe"));
    // The second transaction is wrong by itself: when that is told, the first one was taken.
    let early = "#! rashomon history 1\ninitial 0\n\
                 committed 2 @3..4 r(x,1)\n\
                 committed 3 @5..6 w(y,1) r(y,2)\n";
    stream.write_all(early.as_bytes()).expect("it reads");
    let mut first = String::new();
    told.read_line(&mut first).expect("something is told");
    assert!(first.contains("T2 reads 2 for y"), "{first}");
    signal(&child, "-STOP");
    let late = b"committed 1 @1..2 r(x,0) w(x,1)\n";
    stream.write_all(late).expect("the pipe has room");
    std::thread::sleep(Duration::from_secs(3));
    signal(&child, "-CONT");
    drop(stream);
    let mut rest = String::new();
    told.read_to_string(&mut rest).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(1), "{rest}");
    assert!(!rest.contains("T1"), "what it read came in time: {rest}");
    assert!(rest.contains("5 events, 1 violation, 1 flip"), "{rest}");
}

#[test]
fn a_socket_is_read_to_its_end() {
    let folder = folder();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    let teller = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("somebody connects");
        stream.write_all(VALID.as_bytes()).expect("it reads");
    });
    let ran = run(&["watch", &shown(&path), "--model", "ser", "--format", "json"]);
    teller.join().expect("told");
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(summary(&ran)["transactions"], 3);
}

#[test]
fn a_tcp_connection_is_read_to_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let teller = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("somebody connects");
        stream.write_all(VALID.as_bytes()).expect("it reads");
    });
    let ran = run(&["watch", &format!("tcp://{address}"), "--model", "si"]);
    teller.join().expect("told");
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("satisfied"), "{}", ran.out);
}

#[test]
fn a_workload_on_a_server_is_judged_while_it_runs() {
    let test = "a_workload_on_a_server_is_judged_while_it_runs";
    let Some(url) = url(test, Needs::MariaDbBinlog) else {
        return;
    };
    let watch = ["watch", &url, "--allow-shared-server", "--model"];
    let load = [
        "--sessions",
        "6",
        "--keys",
        "50",
        "--isolation",
        "repeatable-read",
    ];
    let json = [
        "--txns",
        "1500",
        "--seed",
        "5",
        "--timeout",
        "1s",
        "--format",
        "json",
    ];
    let ran = run(&[&watch[..], &["si"], &load, &json].concat());
    let told = summary(&ran);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(told["verdict"], "satisfied");
    assert!(told["transactions"].as_u64() >= Some(1500), "{told}");
    let first = ran.out.lines().next().unwrap_or_default();
    let first: serde_json::Value = serde_json::from_str(first).expect("what runs is told first");
    assert_eq!([&first["promised"], &first["kind"]], ["si", "register"]);
    assert_eq!(first["seed"], 5);
    // Snapshots let two writers read what the other overwrites.
    let ran = run(&[&watch[..], &["ser"], &load, &json].concat());
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert_eq!(summary(&ran)["verdict"], "violated");
    assert_documented(&ran);
    assert_described_as("watch", &ran.out);
}

/// The server reads the place of a session's snapshot from variables that it shares with everybody
/// who asks for a status. Told without care, this test hears stale reads of a correct server.
#[test]
fn two_watches_and_a_monitor_do_not_mistake_each_others_snapshots() {
    let test = "two_watches_and_a_monitor_do_not_mistake_each_others_snapshots";
    let Some(url) = url(test, Needs::MariaDbBinlog) else {
        return;
    };
    let options = engine::OpenOptions {
        run_id: "watchtest".to_owned(),
        allow_shared_server: true,
        ..engine::OpenOptions::default()
    };
    let server = engine::open(&url, &options).expect("a server");
    let database = "rashomon_watchtest";
    server.create_database(database).expect("it is made");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let monitor = scope.spawn(|| {
            let mut session = server.connect(database).expect("connected");
            let mut asked = 0;
            while !is_over.load(Ordering::Relaxed) {
                let told = session.execute("SHOW GLOBAL STATUS LIKE 'Threads%'");
                asked += usize::from(matches!(told, Ok(Outcome::Rows(_))));
            }
            asked
        });
        let watches = ["5", "6"].map(|seed| {
            let watch = ["watch", &url, "--allow-shared-server", "--model", "si"];
            let load = ["--txns", "2500", "--sessions", "8", "--seed", seed];
            let arguments = [&watch[..], &load, &["--format", "json"]].concat();
            let mut command = program(&arguments);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("it starts")
        });
        let heard = watches.map(|child| ran(&child.wait_with_output().expect("it ends")));
        is_over.store(true, Ordering::Relaxed);
        assert!(monitor.join().expect("it asked") > 0);
        for ran in heard {
            assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
            assert_eq!(summary(&ran)["verdict"], "satisfied", "{}", ran.out);
        }
    });
    server.drop_database(database).expect("it goes");
}

#[test]
fn watch_refuses_a_workload_that_cannot_run_before_printing() {
    let test = "watch_refuses_a_workload_that_cannot_run_before_printing";
    let Some(url) = url(test, Needs::MariaDbBinlog) else {
        return;
    };
    let watch = ["watch", &url, "--allow-shared-server", "--model", "si"];
    let ran = run(&[&watch[..], &["--isolation", "serializable"]].concat());
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(
        ran.err.contains("timestamps need the isolation level"),
        "{}",
        ran.err
    );
    assert_eq!(ran.out, "");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_watched_workload_cleanly() {
    let test = "ctrl_c_ends_a_watched_workload_cleanly";
    let Some(url) = url(test, Needs::MariaDbBinlog) else {
        return;
    };
    let arguments = [
        "watch",
        &url,
        "--allow-shared-server",
        "--model",
        "si",
        "--format",
        "json",
    ];
    let mut command = program(&arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    std::thread::sleep(Duration::from_secs(2));
    signal(&child, "-INT");
    let ran = ran(&child.wait_with_output().expect("it ends"));
    assert_eq!(ran.code, Some(130), "{}{}", ran.out, ran.err);
    // Everything that the sessions did was judged, so there is a verdict.
    let told = summary(&ran);
    assert_eq!(told["verdict"], "satisfied", "{told}");
    assert!(told["transactions"].as_u64() > Some(0), "{told}");
}

#[test]
fn watch_refuses_unsupported_sources_with_a_reason() {
    let folder = folder();
    let path = write(&folder, "history", VALID);
    let ran = run(&["watch", &path, "--model", "si", "--sessions", "3"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(
        ran.err.contains("--sessions is for a workload"),
        "{}",
        ran.err
    );
    let ran = run(&["watch", "sqlite:", "--model", "si", "--txns", "10"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("timestamps"), "{}", ran.err);
    for nowhere in ["oracle://nowhere", "oracle:"] {
        let ran = run(&["watch", nowhere, "--model", "si"]);
        assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
        assert!(ran.err.contains("mariadb"), "{}", ran.err);
    }
    let spilled = [
        "watch",
        &path,
        "--model",
        "si",
        "--spill",
        "/no/such/folder",
    ];
    let ran = run(&spilled);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("/no/such/folder"), "{}", ran.err);
    let ran = run(&["watch", &path, "--model", "si", "--allow-shared-server"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    let ran = run(&["watch", "sqlite:", "--model", "si", "--kind", "list-append"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(
        ran.err.contains("mini-transaction, register"),
        "{}",
        ran.err
    );
}
