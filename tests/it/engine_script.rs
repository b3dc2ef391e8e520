//! `scripts/engine` where a container engine answers: a stand-in takes docker's place.

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

/// Plays docker: remembers how it was called, and lets the test play the server.
const STAND_IN: &str = r#"#!/bin/sh
echo "$*" >> "$0.log"
case $1 in
    info) exit 0 ;;
    run) touch "$0.running" ;;
    inspect) if [ -e "$0.running" ]; then echo true; else exit 1; fi ;;
    rm) rm -f "$0.running" ;;
esac
"#;

fn script(folder: &Path, port: u16, arguments: &[&str]) -> Output {
    let path = std::env::var("PATH").expect("PATH");
    Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/engine"))
        .args(arguments)
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("RASHOMON_ENGINES", folder.join("engines"))
        .env("RASHOMON_ENGINE_PORT", port.to_string())
        .env_remove("RASHOMON_CONTAINER")
        .env_remove("RASHOMON_ENGINE_INSTANCE")
        .env_remove("RASHOMON_ENGINE_VERSION")
        .output()
        .expect("the script runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

#[test]
fn a_container_is_started_once_reached_by_its_url_and_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let docker = folder.path().join("docker");
    std::fs::write(&docker, STAND_IN).expect("write");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&docker, mode).expect("chmod");
    let free = TcpListener::bind("127.0.0.1:0").expect("bind");
    let port = free.local_addr().expect("address").port();
    drop(free);
    let running = folder.path().join("docker.running");
    std::thread::spawn(move || {
        while !running.exists() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("bind");
        for mut client in listener.incoming().map_while(Result::ok) {
            let _ = client.write_all(b"I\0\0\0\x0a8.4.0\0");
        }
    });
    let run = |action: &str| script(folder.path(), port, &["mysql", action]);
    assert_eq!(run("status").status.code(), Some(1));
    for _ in 0..2 {
        let up = run("up");
        assert!(up.status.success(), "{}", text(&up.stderr));
        assert_eq!(text(&up.stdout), format!("mysql://root@127.0.0.1:{port}"));
    }
    assert!(run("status").status.success());
    assert!(text(&run("pid").stderr).contains("in a container"));
    assert!(run("down").status.success());
    assert_eq!(run("status").status.code(), Some(1));
    let log = std::fs::read_to_string(folder.path().join("docker.log")).expect("the log");
    let runs: Vec<&str> = log
        .lines()
        .filter(|line| line.starts_with("run "))
        .collect();
    assert_eq!(runs.len(), 1, "{log}");
    for part in [
        "--name rashomon-mysql",
        "-e MYSQL_ALLOW_EMPTY_PASSWORD=1",
        "mysql:9 ",
        &format!("-p 127.0.0.1:{port}:3306"),
    ] {
        assert!(runs[0].contains(part), "{part}: {}", runs[0]);
    }
    assert!(
        log.lines().any(|line| line == "rm -f rashomon-mysql"),
        "{log}"
    );
}

#[test]
fn the_engine_script_refuses_unknown_arguments() {
    let folder = tempfile::tempdir().expect("a folder");
    for arguments in [&["oracle", "up"][..], &["mariadb"], &["mariadb", "dance"]] {
        let output = script(folder.path(), 1, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty());
    }
}
