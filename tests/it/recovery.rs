//! The oracle of recovery: a server of the test's own is killed while transactions run.

use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

use crate::program::{Ran, run};
use crate::servers::{Needs, url};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/engine");

const DURABLE: &str =
    "--innodb-flush-log-at-trx-commit=1 --innodb-doublewrite=1 --innodb-flush-method=fsync";

/// Acknowledges a commit before the log is written: a second of commits is lost with the process.
const LOSING: &str =
    "--innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=1 --innodb-flush-method=fsync";

/// A server that `scripts/engine` starts with these options, and that the program kills.
struct KilledServer {
    instance: &'static str,
    options: &'static str,
}

impl KilledServer {
    fn script(&self, action: &str) -> std::process::Output {
        Command::new(SCRIPT)
            .args(["mariadb", action])
            .env("RASHOMON_ENGINE_INSTANCE", self.instance)
            .env("RASHOMON_ENGINE_OPTIONS", self.options)
            .env("RASHOMON_CONTAINER", "none")
            .env_remove("RASHOMON_ENGINE_PORT")
            .output()
            .expect("the script runs")
    }

    fn up(&self) -> String {
        let up = self.script("up");
        let told = String::from_utf8_lossy(&up.stderr);
        assert!(up.status.success(), "{told}");
        String::from_utf8_lossy(&up.stdout).trim().to_owned()
    }

    fn restart_command(&self) -> String {
        format!(
            "RASHOMON_ENGINE_INSTANCE={} RASHOMON_CONTAINER=none '{SCRIPT}' mariadb crash",
            self.instance
        )
    }
}

impl Drop for KilledServer {
    fn drop(&mut self) {
        let killed = self.script("kill");
        assert!(std::thread::panicking() || killed.status.success());
    }
}

fn fuzz(target: &str, out: &Path, more: &[&str]) -> Ran {
    let out = out.display().to_string();
    let words = ["fuzz", target, "--oracle", "recovery", "--out", &out];
    run(&[&words, more].concat())
}

fn summary(ran: &Ran) -> Json {
    let last = ran.out.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|error| panic!("{last}: {error}\n{}", ran.err))
}

#[test]
fn a_durable_server_loses_nothing_by_five_kills() {
    let test = "a_durable_server_loses_nothing_by_five_kills";
    // The URL is not used: it tells that tests with servers are wanted on this machine.
    if url(test, Needs::MariaDb).is_none() {
        return;
    }
    let server = KilledServer {
        instance: "-recovery",
        options: DURABLE,
    };
    let target = server.up();
    let folder = tempfile::tempdir().expect("a folder");
    let command = server.restart_command();
    let kills = ["--restart-command", &command, "--cases", "5", "--seed", "3"];
    let ran = fuzz(
        &target,
        folder.path(),
        &[&kills[..], &["--format", "json"]].concat(),
    );
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let summary = summary(&ran);
    assert_eq!(summary["verdicts"]["agree"], 5, "{summary}");
    assert!(summary["statements"].as_u64() > Some(100), "{summary}");
    let doctor = run(&["doctor", &target]);
    assert!(
        doctor.out.contains("acknowledged commits survive a crash"),
        "{}",
        doctor.out
    );
    // A command that leaves the server alone is no kill.
    let ran = fuzz(
        &target,
        folder.path(),
        &["--restart-command", "true", "--cases", "1"],
    );
    assert_eq!(ran.code, Some(5), "{}{}", ran.out, ran.err);
    assert!(
        ran.out.contains("did not kill the server"),
        "{}{}",
        ran.out,
        ran.err
    );
    let failing = "echo unit not found >&2; exit 4";
    let ran = fuzz(
        &target,
        folder.path(),
        &["--restart-command", failing, "--cases", "1"],
    );
    assert_eq!(ran.code, Some(5), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("unit not found"), "{}{}", ran.out, ran.err);
}

#[test]
fn commits_that_are_acknowledged_before_they_are_written_are_found_lost() {
    let test = "commits_that_are_acknowledged_before_they_are_written_are_found_lost";
    if url(test, Needs::MariaDb).is_none() {
        return;
    }
    let server = KilledServer {
        instance: "-losing",
        options: LOSING,
    };
    let target = server.up();
    let folder = tempfile::tempdir().expect("a folder");
    let command = server.restart_command();
    let kills = [
        "--restart-command",
        &command,
        "--cases",
        "20",
        "--seed",
        "3",
    ];
    let refused = fuzz(&target, folder.path(), &kills);
    assert_eq!(refused.code, Some(2), "{}{}", refused.out, refused.err);
    let remedy = "Put innodb_flush_log_at_trx_commit = 1 into its configuration";
    assert!(refused.err.contains(remedy), "{}", refused.err);
    let claimed = [&kills[..], &["--claim-durable", "--format", "json"]].concat();
    let ran = fuzz(&target, folder.path(), &claimed);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    let summary = summary(&ran);
    let file = summary["reproducers"][0].as_str().expect("a reproducer");
    let text = std::fs::read_to_string(file).expect("it is there");
    for part in [
        "kind = \"lost-commit\"",
        "acknowledged, and their changes are gone: T",
        "innodb_doublewrite = ON, innodb_flush_log_at_trx_commit = 0",
        "statements had been answered",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let triage = run(&["triage", &folder.path().display().to_string()]);
    assert!(triage.out.contains("lost-commit"), "{}", triage.out);
    // No replay kills a server.
    let replayed = run(&["replay", file, &target]);
    assert_eq!(replayed.code, Some(3), "{}{}", replayed.out, replayed.err);
    assert!(
        replayed
            .out
            .contains("--oracle recovery --restart-command CMD --seed 3:"),
        "{}",
        replayed.out
    );
}

#[test]
fn a_run_that_cannot_kill_a_server_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |words: &[&str], reason: &str| {
        let ran = fuzz("sqlite:", folder.path(), words);
        assert_eq!(ran.code, Some(2), "{words:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(reason), "{words:?}: {}", ran.err);
    };
    refused(&[], "needs --restart-command CMD");
    let kills = ["--restart-command", "true"];
    refused(&kills, "does not judge sqlite");
    refused(&[&kills[..], &["--workers", "2"]].concat(), "one worker");
    refused(
        &[&kills[..], &["--oracle", "serial"]].concat(),
        "name it alone",
    );
    let others = run(&[
        "fuzz",
        "sqlite:",
        "--restart-command",
        "true",
        "--cases",
        "1",
    ]);
    assert_eq!(others.code, Some(2), "{}{}", others.out, others.err);
    assert!(
        others.err.contains("is for --oracle recovery"),
        "{}",
        others.err
    );
}
