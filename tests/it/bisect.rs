//! `rashomon bisect`: a case on servers that show it and servers that do not.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::commands::assert_described_as;
use crate::plant::{Fault, Plant, PlantedServer, Rate};
use crate::program::{PATIENCE, Ran, folder, program, ran, run, write};
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

/// An update whose count a planted fault spoils.
const COUNTED: &str = "--! format = 1
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

const REFUSES: &str = "sqlite:?journal=delete";
const TAKES: &str = "sqlite:";

fn lines(ran: &Ran) -> Vec<Json> {
    assert_described_as("bisect", &ran.out);
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
    let place = folder();
    let file = write(&place, "case.sql", COUNTED);
    let servers = ["bisect", &file, "--versions", &url, &planted.url];
    let more = ["--allow-shared-server", "--format", "json"];
    let ran = run(&[&servers[..], &more].concat());
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    let lines = lines(&ran);
    assert_eq!(lines[0]["result"], "clean", "{}", ran.out);
    assert_eq!(lines[1]["result"], "shows", "{}", ran.out);
    assert_eq!(lines[2]["changes"][0]["change"], "begins", "{}", ran.out);
}

/// Plays docker: a container is a file that says where its server is, and every call stands in a log. It refuses
/// what docker would: a port that is not on the loopback address, a name twice, a container that is not there.
const STAND_IN: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/log"
refuse() { echo "$1" >&2; exit 125; }
case $1 in
    info) exit 0 ;;
    run)
        shift
        detached= name= port= image=
        while [ $# -gt 0 ]; do
            case $1 in
                -d) detached=yes ;;
                --name) name=$2; shift ;;
                -p) case $2 in 127.0.0.1::*) port=${2##*:} ;; *) refuse "port $2" ;; esac; shift ;;
                -e) shift ;;
                -*) refuse "unknown flag: $1" ;;
                *) image=$1; break ;;
            esac
            shift
        done
        [ "$detached$port" = yes3306 ] || refuse "not detached, or port $port"
        [ ! -e "$here/container-$name" ] || refuse "The container name is in use"
        version=$here/image-$(echo "$image" | tr / _)
        [ -e "$version" ] || refuse "Unable to find image '$image' locally: manifest unknown"
        [ -z "$(ls "$here" | grep '^container-')" ] || refuse "another server runs"
        cp "$version" "$here/container-$name"
        echo 4f66ad9a0b2e ;;
    port) [ "$3" = 3306 ] && [ -e "$here/container-$2" ] || refuse "No such container: $2"
        echo "127.0.0.1:$(cat "$here/container-$2")" ;;
    inspect) [ "$2" = -f ] && [ -e "$here/container-$4" ] || refuse "No such object: $4"
        if [ -e "$here/dead" ]; then echo false; else echo true; fi ;;
    logs) echo "mysqld: out of memory" ;;
    rm) [ "$2 $3" = "-f -v" ] && rm "$here/container-$4" || refuse "No such container: $4" ;;
    *) refuse "unknown command: $1" ;;
esac
"#;

/// A folder with the stand-in, where `image-NAME:TAG` holds the port of that version's server.
struct Docker {
    folder: TempDir,
}

impl Docker {
    fn with(images: &[(&str, u16)]) -> Self {
        let folder = folder();
        let docker = folder.path().join("docker");
        std::fs::write(&docker, STAND_IN).expect("it is written");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&docker, mode).expect("it may be run");
        for (image, port) in images {
            let image = format!("image-{}", image.replace('/', "_"));
            let image = folder.path().join(image);
            std::fs::write(image, port.to_string()).expect("it is written");
        }
        Self { folder }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = program(&[&["bisect"], arguments].concat());
        command.env("PATH", format!("{}:{path}", self.folder.path().display()));
        command.env_remove("RASHOMON_CONTAINER");
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        ran(&self.command(arguments).output().expect("it runs"))
    }

    fn log(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.folder.path().join("log"));
        let log = log.expect("it was called");
        log.lines().map(str::to_owned).collect()
    }

    /// The containers that are there.
    fn left(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.folder.path()).expect("the folder is there");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let is_container = |path: &PathBuf| path.display().to_string().contains("/container-");
        paths.filter(is_container).collect()
    }
}

fn port_of(url: &str) -> u16 {
    let url = url::Url::parse(url).expect("a URL");
    url.port().expect("a port")
}

#[test]
fn images_are_started_one_after_the_other_and_removed() {
    let test = "images_are_started_one_after_the_other_and_removed";
    let Some(url) = url(test, Needs::MariaDb) else {
        return;
    };
    let plant = Plant {
        fault: Fault::CountOffByOne,
        rate: Rate::Always,
    };
    let planted = PlantedServer::before(&url, plant);
    let docker = Docker::with(&[
        ("mariadb:10.11.6", port_of(&url)),
        ("mirror.example:5000/mariadb:11.4", port_of(&planted.url)),
    ]);
    let place = folder();
    let header = "--! format = 1\n--! variables = { log_bin = \"OFF\", innodb_snapshot_isolation = \"ON\" }\n";
    let case = COUNTED.replace("--! format = 1\n", header);
    let file = write(&place, "case.sql", &case);
    let versions = [
        &file,
        "--versions",
        "mariadb:10.11.6,mirror.example:5000/mariadb:11.4",
        "mariadb:none",
        "--allow-shared-server",
        "--format",
        "json",
    ];
    let mut command = docker.command(&versions);
    // The servers of images have no password, and that of others is not tried on them.
    command.env("RASHOMON_PASSWORD", "of other servers");
    let ran = ran(&command.output().expect("it runs"));
    let lines = lines(&ran);
    let results: Vec<&Json> = lines.iter().map(|line| &line["result"]).collect();
    let due = ["clean", "shows", "unreachable"];
    assert_eq!(results[..3], due, "{}{}", ran.out, ran.err);
    assert_eq!(ran.code, Some(5), "{}{}", ran.out, ran.err);
    assert_eq!(lines[2]["server"], "mariadb:none");
    let reason = lines[2]["reason"].as_str().expect("a text");
    assert!(reason.contains("manifest unknown"), "{reason}");
    assert_eq!(lines[3]["changes"][0]["change"], "begins", "{}", ran.out);

    assert_eq!(docker.left(), [""; 0].map(PathBuf::from));
    let log = docker.log();
    let commands: Vec<&str> = log
        .iter()
        .filter_map(|line| line.split(' ').next())
        .collect();
    let due = [
        "info", "run", "port", "rm", "run", "port", "rm", "run", "rm",
    ];
    assert_eq!(commands, due, "{log:#?}");
    for part in [
        "-e MARIADB_ALLOW_EMPTY_ROOT_PASSWORD=1",
        "-e MARIADB_ROOT_HOST=%",
        "-p 127.0.0.1::3306 ",
        " mariadb:10.11.6 --skip-log-bin --loose-innodb-snapshot-isolation=ON",
    ] {
        assert!(log[1].contains(part), "no {part}: {}", log[1]);
    }
    let name = log[1]
        .split("--name ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    assert_eq!(log[3], format!("rm -f -v {}", name.expect("a name")));
}

#[test]
fn without_a_container_engine_an_image_is_refused_with_the_remedy() {
    let place = folder();
    let file = write(&place, "case.sql", BESIDE_A_READER);
    let docker = Docker::with(&[]);
    for (engine, words) in [
        ("none", "RASHOMON_CONTAINER is none"),
        ("/nonexistent/podman", "`/nonexistent/podman info` fails"),
    ] {
        let mut command = docker.command(&[&file, "--versions", TAKES, "mysql:8.0.36"]);
        command.env("RASHOMON_CONTAINER", engine);
        let ran = ran(&command.output().expect("it runs"));
        assert_eq!(ran.code, Some(5), "{}{}", ran.out, ran.err);
        assert_eq!(ran.out, "", "nothing was tried");
        for words in [words, "start docker or podman"] {
            assert!(ran.err.contains(words), "no {words}: {}", ran.err);
        }
    }
    // URLs alone ask for none.
    let urls = docker.run(&[&file, "--versions", TAKES]);
    assert_eq!(urls.code, Some(1), "{}", urls.err);
    assert!(!docker.folder.path().join("log").exists());
}

#[test]
fn a_server_that_ends_by_itself_is_told_with_its_last_words() {
    let place = folder();
    let file = write(&place, "case.sql", COUNTED);
    let docker = Docker::with(&[("mariadb:10.3", 1)]);
    std::fs::write(docker.folder.path().join("dead"), "").expect("it is written");
    let ran = docker.run(&[&file, "--versions", "mariadb:10.3"]);
    assert_eq!(ran.code, Some(5), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("mysqld: out of memory"), "{}", ran.out);
    assert_eq!(docker.left(), [""; 0].map(PathBuf::from));
}

/// Waits until this holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn exit_code(mut child: Child) -> Option<i32> {
    let mut code = None;
    until("the program ends", || {
        let status = child.try_wait().expect("it can be asked");
        code = status.and_then(|status| status.code());
        status.is_some()
    });
    code
}

#[test]
fn a_signal_removes_the_container_that_is_being_waited_for() {
    let place = folder();
    let file = write(&place, "case.sql", COUNTED);
    // It takes connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").expect("bind");
    let port = silent.local_addr().expect("an address").port();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let docker = Docker::with(&[("mariadb:10.3", port)]);
        let mut command = docker.command(&[&file, "--versions", "mariadb:10.3"]);
        let child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        until("a container is started", || docker.left().len() == 1);
        until("its port is asked for", || docker.log().len() >= 3);
        kill_process(Pid::from_child(&child), signal).expect("it is there");
        assert_eq!(exit_code(child), Some(code));
        assert_eq!(
            docker.left(),
            [""; 0].map(PathBuf::from),
            "{:#?}",
            docker.log()
        );
    }
}
