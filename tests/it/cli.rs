//! The program as its users see it: exit codes, streams, messages, interruption.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use rashomon::engine::{self, OpenOptions};
use serde_json::Value as Json;

use crate::commands::assert_described_as;
use crate::program::{Ran, files, folder, program, ran, run, shown, summary, write};
use crate::servers::{Needs, url};

/// Ends with this code, and says all of this on standard error, without a panic.
fn check_refusal(arguments: &[&str], code: i32, says: &[&str]) {
    let ran = run(arguments);
    assert_eq!(
        ran.code,
        Some(code),
        "{arguments:?}: {}{}",
        ran.out,
        ran.err
    );
    for words in says {
        assert!(
            ran.err.contains(words),
            "{arguments:?}: no {words:?} in: {}",
            ran.err
        );
    }
    assert!(
        !ran.err.contains("panicked") && !ran.err.contains("This is a defect"),
        "{}",
        ran.err
    );
}

#[test]
fn usage_errors_exit_2_and_name_the_remedy() {
    check_refusal(
        &["fuzz", "--no-such-flag"],
        2,
        &["--no-such-flag", "--help"],
    );
    check_refusal(
        &["fuzz", "--isolation", "snapshot"],
        2,
        &["snapshot", "repeatable-read"],
    );
    check_refusal(
        &["fuzz", "--claim", "strict"],
        2,
        &["strict", "serializable"],
    );
    check_refusal(
        &["fuzz", "--oracle", "delphi"],
        2,
        &["delphi", "txcheck", "serial"],
    );
    check_refusal(&["fuzz", "--for", "soon"], 2, &["soon", "10m"]);
    check_refusal(&["fuzz", "--cases", "0"], 2, &["--cases", "from 1"]);
    check_refusal(&["fuzz", "--cases", "many"], 2, &["--cases"]);
    check_refusal(&["fuzz", "--seed=-1"], 2, &["--seed"]);
    check_refusal(&["fuzz", "--format", "xml"], 2, &["xml", "human", "json"]);
    check_refusal(&["--log", "loud", "fuzz"], 2, &["loud", "debug"]);
    check_refusal(&["fuzz", "oracle://x"], 2, &["oracle", "sqlite:"]);
    check_refusal(&["fuzz", "simulated:x"], 2, &["names a place"]);
    check_refusal(&["fuzz", "simulated:?flavour=x"], 2, &["flavour", "innodb"]);
    check_refusal(&["fuzz", "not a url"], 2, &["sqlite:"]);
    check_refusal(&["replay"], 2, &["<PATH>"]);
    check_refusal(&["mimimize"], 2, &["minimize"]);
    check_refusal(&[], 2, &["Usage"]);
}

#[test]
fn malformed_numbers_and_times_are_refused_with_the_expected_form() {
    let huge = "99999999999999999999";
    for (option, value, says) in [
        ("--for", "10", "10s, 10m or 10h"),
        ("--for", "-5s", "write 30s"),
        ("--for", "99999999999999999999d", "too long"),
        ("--cases", "-5", "from 1 to 18446744073709551615"),
        ("--cases", huge, "from 1 to 18446744073709551615"),
        ("--workers", "-1", "from 1 to"),
        ("--workers", "65", "at most 64"),
        ("--seed", "-1", "from 0 to 18446744073709551615"),
        ("--seed", huge, "from 0 to 18446744073709551615"),
        ("--seed", "1:x", "SEED:INDEX"),
        ("--case", "-3", "from 0 to"),
    ] {
        check_refusal(&["fuzz", option, value], 2, &[option, says]);
    }
    let check = ["check", "x.hist", "--memory"];
    check_refusal(&[&check[..], &["512"]].concat(), 2, &["512M or 512G"]);
    check_refusal(&[&check[..], &["-1M"]].concat(), 2, &["write 512M"]);
}

#[test]
fn a_target_without_a_scheme_is_refused_with_a_corrected_one() {
    let says = [
        "mysql://USER@localhost:3306",
        "mariadb://USER@localhost:3306",
    ];
    for command in ["fuzz", "clean", "calibrate"] {
        check_refusal(&[command, "localhost:3306"], 2, &says);
    }
    check_refusal(&["fuzz", "root:s3cret@localhost:3306"], 2, &says);
    let ran = run(&["fuzz", "root:s3cret@localhost:3306"]);
    assert!(!ran.err.contains("s3cret"), "{}", ran.err);
}

#[test]
fn a_compressed_file_is_named_as_one_with_the_program_that_reads_it() {
    let folder = folder();
    let file = folder.path().join("case.gz");
    // The first bytes of every file of gzip, and some that are no text.
    std::fs::write(&file, b"\x1f\x8b\x08\x00\xff\xff").expect("it is writable");
    let file = shown(&file);
    for arguments in [
        &["replay", &file, "sqlite:"][..],
        &["minimize", &file, "sqlite:"],
        &["fuzz", "--known", &file],
        &["fuzz", "--dialect", &file],
        &["fuzz", "--password-file", &file],
    ] {
        check_refusal(arguments, 2, &["compressed by gzip", "gzip -dk"]);
    }
}

/// A reproducer's `seed` is taken as it stands, and means that one case.
#[test]
fn a_seed_with_an_index_runs_that_case_alone() {
    let folder = folder();
    let out = shown(folder.path());
    let case_of = |arguments: &[&str]| {
        let base = ["fuzz", "sqlite:", "--out", &out, "--format", "json"];
        let ran = run(&[&base[..], arguments].concat());
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        let mut summary = summary(&ran);
        for field in ["elapsed_s", "cases_per_s", "run"] {
            summary[field] = Json::Null;
        }
        assert_eq!(
            (&summary["cases"], &summary["seed"]),
            (&1.into(), &7.into())
        );
        summary
    };
    assert_eq!(
        case_of(&["--seed", "7:12"]),
        case_of(&["--seed", "7", "--case", "12"])
    );
    for other in [["--case", "3"], ["--cases", "3"]] {
        let arguments = [&["fuzz", "--seed", "7:12"], &other[..]].concat();
        check_refusal(&arguments, 2, &["case 12 alone", other[0]]);
    }
    let workload = [
        "workload", "sqlite:", "--kind", "register", "-o", "x.hist", "--seed", "7:12",
    ];
    check_refusal(&workload, 2, &["rashomon fuzz --seed 7:12"]);
}

/// What was recorded in an hour is not lost to a name that is typed twice.
#[test]
fn an_existing_output_file_is_kept_without_force() {
    let folder = folder();
    let file = write(&folder, "run.hist", "kept");
    let workload = [
        "workload", "sqlite:", "--kind", "register", "--txns", "5", "-o", &file,
    ];
    check_refusal(&workload, 2, &["run.hist is there already", "--force"]);
    let history = write(
        &folder,
        "skew.hist",
        "#! rashomon history 1\ncommitted s1 w(x,1)\n",
    );
    for picture in ["--dot", "--svg"] {
        let check = ["check", &history, "--model", "ser", picture, &file];
        check_refusal(&check, 2, &["run.hist is there already", "--force"]);
    }
    let case = write(&folder, "case.sql", "");
    check_refusal(
        &["minimize", &case, "sqlite:", "-o", &file],
        2,
        &["run.hist is there already", "--force"],
    );
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "kept");
    let ran = run(&[&workload[..], &["--force"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_ne!(std::fs::read_to_string(&file).expect("it is there"), "kept");
    // The name that the option had before.
    let other = shown(&folder.path().join("other.hist"));
    let base = [
        "workload", "sqlite:", "--kind", "register", "--txns", "5", "--output", &other,
    ];
    assert_eq!(run(&base).code, Some(0));
}

#[test]
fn levels_that_an_engine_does_not_have_are_refused() {
    let says = ["no isolation level read-committed", "serializable"];
    check_refusal(
        &["fuzz", "sqlite:", "--isolation", "read-committed"],
        2,
        &says,
    );
}

#[test]
fn help_and_version_exit_0() {
    for arguments in [
        &["--help"][..],
        &["fuzz", "--help"],
        &["replay", "-h"],
        &["--version"],
    ] {
        let ran = run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}");
        assert!(ran.out.contains("rashomon"), "{arguments:?}: {}", ran.out);
    }
}

#[test]
fn an_unreachable_server_exits_5() {
    // Nothing listens on the discard port of this machine.
    check_refusal(
        &["fuzz", "mysql://root@127.0.0.1:9"],
        5,
        &["cannot connect", "127.0.0.1:9"],
    );
}

#[test]
fn broken_files_are_named_with_line_and_column() {
    let folder = folder();
    let dialect = write(
        &folder,
        "bad.toml",
        "format = 1\nengine = \"sqlite\"\nlevels = 7\n",
    );
    check_refusal(&["fuzz", "--dialect", &dialect], 2, &["bad.toml:3:"]);
    let known = write(&folder, "known.toml", "format = 2\n[[known]]\nid = 3\n");
    check_refusal(&["fuzz", "--known", &known], 2, &["known.toml:3:"]);
    write(
        &folder,
        "grammar/common/select.grammar",
        "select\n    1 SELECT <nowhere>\n",
    );
    let grammar = shown(&folder.path().join("grammar"));
    check_refusal(&["fuzz", "--grammar", &grammar], 2, &["select.grammar:"]);
    let case = "--! format = 1\n--! isolation = \"SERIALIZABLE\"\n/* s1 */ SELECT 1;\nSELECT 2;\n";
    let case = write(&folder, "case.sql", case);
    check_refusal(&["replay", &case, "sqlite:"], 2, &["case.sql:4:"]);
    check_refusal(&["minimize", &case, "sqlite:"], 2, &["case.sql:4:"]);
    let missing = shown(&folder.path().join("missing"));
    for option in ["--dialect", "--known", "--grammar", "--resume"] {
        check_refusal(&["fuzz", option, &missing], 2, &["missing"]);
    }
    check_refusal(&["replay", &missing, "sqlite:"], 2, &["missing"]);
}

#[test]
fn a_case_file_with_unsafe_statements_is_refused() {
    let folder = folder();
    let text = "--! format = 1\n--! isolation = \"SERIALIZABLE\"\n\
                /* s1 */ ATTACH DATABASE '/etc/passwd' AS other;\n";
    let case = write(&folder, "attach.sql", text);
    check_refusal(
        &["replay", &case, "sqlite:"],
        6,
        &["attach.sql", "refused", "--trust"],
    );
}

#[test]
fn replay_of_a_folder_without_cases_exits_4() {
    let folder = folder();
    check_refusal(
        &["replay", &shown(folder.path()), "sqlite:"],
        4,
        &["no case file"],
    );
}

#[test]
fn a_target_is_never_taken_from_a_case_file() {
    let folder = folder();
    let text = "--! format = 1\n--! engine = \"mariadb\"\n--! isolation = \"SERIALIZABLE\"\n\
                /* s1 */ SELECT 1;\n";
    let case = write(&folder, "case.sql", text);
    check_refusal(&["replay", &case], 2, &["TARGET"]);
}

#[test]
fn an_unwritable_output_folder_is_reported_at_the_start() {
    let folder = folder();
    let file = write(&folder, "file", "in the way");
    check_refusal(
        &["fuzz", "--out", &file, "--cases", "1"],
        5,
        &["cannot write to --out", "file"],
    );
}

/// Runs the program with a small file system of its own mounted over a folder.
fn on_file_system(test: &str, options: &str, arguments: &[&str], out: &Path) -> Option<Ran> {
    let script = "mount -t tmpfs -o \"$1\" tmpfs \"$2\" || exit 99; shift 2; exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args([
        "--mount",
        "--map-root-user",
        "sh",
        "-c",
        script,
        "sh",
        options,
    ]);
    command
        .arg(out)
        .arg(env!("CARGO_BIN_EXE_rashomon"))
        .args(arguments);
    let output = command.stdin(Stdio::null()).output();
    match output {
        Ok(output) if !matches!(output.status.code(), Some(99 | 1) if output.stdout.is_empty()) => {
            Some(ran(&output))
        }
        _ => {
            use std::io::Write as _;
            let _ = writeln!(
                std::io::stderr(),
                "NOT RUN: {test}: no file system can be mounted here"
            );
            None
        }
    }
}

#[test]
fn a_read_only_or_full_output_folder_is_exit_5() {
    let folder = folder();
    let out = shown(folder.path());
    for (options, says) in [("ro,size=1m", "ead-only"), ("size=4k,nr_inodes=20", "pace")] {
        let arguments = ["fuzz", "--out", &out, "--cases", "5"];
        let test = "a_read_only_or_full_output_folder_is_exit_5";
        let Some(ran) = on_file_system(test, options, &arguments, folder.path()) else {
            return;
        };
        assert_eq!(ran.code, Some(5), "{options}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains("cannot write"), "{}", ran.err);
        assert!(ran.err.contains(says), "{}", ran.err);
    }
}

#[test]
fn one_and_two_workers_give_the_same_verdicts_for_a_seed() {
    let folder = folder();
    let out = shown(folder.path());
    let run_with = |workers: &str| {
        let ran = run(&[
            "fuzz",
            "sqlite:",
            "--seed",
            "7",
            "--cases",
            "60",
            "--workers",
            workers,
            "--out",
            &out,
            "--format",
            "json",
        ]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        summary(&ran)
    };
    let (one, two) = (run_with("1"), run_with("2"));
    for key in [
        "seed",
        "cases",
        "verdicts",
        "undecided",
        "known",
        "tested_share",
        "rejected",
    ] {
        assert_eq!(one[key], two[key], "{key}");
    }
    assert_eq!(one["v"], 1);
    assert_eq!(one["event"], "summary");
    assert_eq!(one["cases"], 60);
    assert!(
        one["target"]
            .as_str()
            .is_some_and(|t| t.starts_with("sqlite 3.")),
        "{one}"
    );
}

#[test]
fn the_seed_comes_first_and_colours_do_not_reach_a_pipe() {
    let folder = folder();
    let out = shown(folder.path());
    let ran = run(&["fuzz", "--cases", "20", "--out", &out]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("seed "), "{}", ran.out);
    assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'));
    let forced = program(&["fuzz", "--cases", "20", "--out", &out])
        .env("CLICOLOR_FORCE", "1")
        .output()
        .expect("the program runs");
    assert!(ran_has_escape(&forced), "CLICOLOR_FORCE colours a pipe");
}

fn ran_has_escape(output: &Output) -> bool {
    output.stdout.contains(&0x1b)
}

/// A user of the server that may do nothing, and one with a password.
fn with_users(url: &str, check: impl Fn(&str)) {
    let options = OpenOptions {
        run_id: "clitest".to_owned(),
        allow_shared_server: true,
        ..OpenOptions::default()
    };
    let server = engine::open(url, &options).expect("the server is there");
    let database = "rashomon_clitest_users";
    server.create_database(database).expect("it is made");
    let mut connection = server.connect(database).expect("connected");
    let mut send = |sql: &str| {
        let outcome = connection.execute(sql).expect("it is answered");
        assert!(outcome.error_class().is_none(), "{sql}: {outcome:?}");
    };
    for host in ["127.0.0.1", "localhost"] {
        send(&format!("DROP USER IF EXISTS 'rashomon_poor'@'{host}'"));
        send(&format!(
            "CREATE USER 'rashomon_poor'@'{host}' IDENTIFIED BY 'a-secret'"
        ));
    }
    let address = url.split('@').nth(1).expect("a host").to_owned();
    check(&address);
    for host in ["127.0.0.1", "localhost"] {
        send(&format!("DROP USER 'rashomon_poor'@'{host}'"));
    }
    drop(connection);
    server.drop_database(database).expect("it is dropped");
}

#[test]
fn wrong_passwords_and_missing_privileges_are_reported_without_the_password() {
    let test = "wrong_passwords_and_missing_privileges_are_reported_without_the_password";
    let Some(url) = url(test, Needs::MariaDb) else {
        return;
    };
    with_users(&url, |address| {
        let target = format!("mariadb://rashomon_poor:not-a-secret@{address}");
        check_refusal(&["fuzz", &target], 5, &["refused the login"]);
        let target = format!("mariadb://rashomon_poor:a-secret@{address}");
        let ran = run(&["fuzz", &target, "--cases", "1", "--allow-shared-server"]);
        assert_eq!(ran.code, Some(5), "{}{}", ran.out, ran.err);
        assert!(ran.err.contains("GRANT"), "the GRANT is named: {}", ran.err);
        assert!(
            !ran.err.contains("a-secret") && !ran.out.contains("a-secret"),
            "{}",
            ran.err
        );
        let ran = run(&["doctor", &target]);
        assert_ne!(ran.code, Some(0), "{}", ran.out);
        assert!(ran.out.contains("GRANT"), "{}{}", ran.out, ran.err);
        assert!(!ran.out.contains("a-secret"), "{}", ran.out);
    });
}

#[test]
fn a_level_claimed_too_strong_is_found_published_and_replayed() {
    let test = "a_level_claimed_too_strong_is_found_published_and_replayed";
    let Some(url) = url(test, Needs::MariaDb) else {
        return;
    };
    let folder = folder();
    let out = shown(folder.path());
    let ran = run(&[
        "fuzz",
        &url,
        "--allow-shared-server",
        "--isolation",
        "read-committed",
        "--claim",
        "serializable",
        "--oracle",
        "serial",
        "--seed",
        "1",
        "--cases",
        "12",
        "--out",
        &out,
        "--format",
        "json",
    ]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    let published = summary(&ran)["reproducers"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let path = published
        .first()
        .and_then(Json::as_str)
        .expect("a reproducer")
        .to_owned();
    assert!(
        ran.err.contains("Reproduce with: rashomon replay")
            && ran.err.contains("Export with: rashomon export"),
        "{}",
        ran.err
    );
    let replayed = run(&[
        "replay",
        &path,
        &url,
        "--allow-shared-server",
        "--times",
        "10",
        "--format",
        "json",
    ]);
    assert_eq!(replayed.code, Some(1), "{}{}", replayed.out, replayed.err);
    assert_described_as("replay", &replayed.out);
    let line: Json =
        serde_json::from_str(replayed.out.lines().next().expect("a line")).expect("it is JSON");
    assert_eq!(
        (&line["hits"], &line["runs"]),
        (&Json::from(10), &Json::from(10)),
        "{line}"
    );
    let torn = files(folder.path(), ".sql")
        .into_iter()
        .filter(|path| rashomon::reproducer::load(path).is_err())
        .count();
    assert_eq!(torn, 0);
}

#[test]
fn manual_pages_are_printed_or_written_and_never_overwritten() {
    let main = run(&["man"]);
    assert_eq!(main.code, Some(0), "{}", main.err);
    assert!(main.out.contains(".SH \"EXIT STATUS\""), "{}", main.out);
    let inner = run(&["man", "triage", "show"]);
    assert!(
        inner.out.contains(".TH rashomon-triage-show 1"),
        "{}",
        inner.out
    );
    check_refusal(&["man", "fuz"], 2, &["\"fuz\"", "fuzz", "triage show"]);

    let folder = folder();
    let pages = shown(&folder.path().join("man1"));
    let written = run(&["man", "--out", &pages]);
    assert_eq!(written.code, Some(0), "{}", written.err);
    let written = files(Path::new(&pages), ".1");
    for name in ["rashomon.1", "rashomon-fuzz.1", "rashomon-triage-show.1"] {
        assert!(
            written.iter().any(|path| path.ends_with(name)),
            "{written:?}"
        );
    }
    std::fs::write(&written[0], "mine").expect("it is written");
    check_refusal(&["man", "--out", &pages], 2, &["--force"]);
    assert_eq!(
        std::fs::read_to_string(&written[0]).expect("it is there"),
        "mine"
    );
    let forced = run(&["man", "--out", &pages, "--force"]);
    assert_eq!(forced.code, Some(0), "{}", forced.err);
    assert_ne!(
        std::fs::read_to_string(&written[0]).expect("it is there"),
        "mine"
    );
}
