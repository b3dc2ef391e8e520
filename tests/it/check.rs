//! `rashomon check` as its users run it: answers, pictures, limits.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;

use crate::commands::assert_described_as;
use crate::program::{Ran, assert_documented, folder, program, ran, run, shown, summary, write};

/// Write skew between two sessions, whose keys have names that XML gives a meaning to.
const SKEW: &str = "\
#! rashomon history 1
initial 0
committed s1 r(\"<a>\",0) r(\"b&\",0) w(\"<a>\",1)
committed s2 r(\"<a>\",0) r(\"b&\",0) w(\"b&\",1)
";

/// So many committed transactions, each as its number says.
fn many(count: u32, transaction: impl Fn(u32) -> String) -> String {
    let mut text = String::from("#! rashomon history 1\ninitial 0\n");
    for number in 1..=count {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "committed {}", transaction(number));
    }
    text
}

#[test]
fn check_draws_the_given_model_or_the_weakest_violated_one() {
    let folder = folder();
    let file = write(&folder, "skew.txt", SKEW);
    for model in [&["--model", "ser"][..], &[]] {
        let (svg, dot) = (folder.path().join("skew.svg"), folder.path().join("s.dot"));
        let pictures = ["--svg", &shown(&svg), "--dot", &shown(&dot)].map(str::to_owned);
        let mut arguments = vec!["check", &file];
        arguments.extend(model);
        arguments.extend(pictures.iter().map(String::as_str));
        let ran = run(&arguments);
        assert_eq!(ran.code, Some(1), "{}", ran.err);
        assert!(ran.out.contains("violated: write skew"), "{}", ran.out);
        let drawn = std::fs::read_to_string(&svg).expect("a picture");
        assert_is_xml(&drawn);
        for part in [
            "write skew (G2-item)",
            "RW(&quot;&lt;a&gt;&quot;)",
            "RW(&quot;b&amp;&quot;)",
        ] {
            assert!(drawn.contains(part), "{part}: {drawn}");
        }
        assert_eq!(drawn.matches("<polygon").count(), 2, "an arrow an edge");
        let graph = std::fs::read_to_string(&dot).expect("a graph");
        assert!(graph.starts_with("digraph"), "{graph}");
        std::fs::remove_file(&svg).expect("removed");
        std::fs::remove_file(&dot).expect("removed");
    }
}

/// Every tag is closed by one of its name, and no bare ampersand stands in the text.
fn assert_is_xml(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    for part in text.split('<').skip(1) {
        let (tag, after) = part.split_once('>').expect("a tag ends");
        for entity in after.split('&').skip(1) {
            let name = entity.split(';').next().unwrap_or_default();
            assert!(["lt", "gt", "amp", "quot"].contains(&name), "&{entity}");
        }
        let name = tag.split([' ', '/']).find(|word| !word.is_empty());
        let name = name.expect("a name");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn check_dot_without_counterexample_says_so_and_an_unwritable_path_is_reported() {
    let folder = folder();
    let file = write(&folder, "skew.txt", SKEW);
    let svg = shown(&folder.path().join("none.svg"));
    let ran = run(&["check", &file, "--model", "si", "--svg", &svg]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(!Path::new(&svg).exists());
    assert!(
        ran.err
            .contains("nothing is violated: no picture was drawn"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains("earlier run"), "{}", ran.err);
    // One that lies there is not of this run, and nobody else's to remove.
    std::fs::write(&svg, "old").expect("written");
    let ran = run(&["check", &file, "--model", "si", "--svg", &svg, "--force"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.err.contains(&format!("{svg} is of an earlier run")),
        "{}",
        ran.err
    );
    assert_eq!(std::fs::read_to_string(&svg).expect("it is there"), "old");
    // Strict serializability is not known, and nothing else is violated.
    let serial = write(&folder, "serial.txt", &SKEW.replace("r(\"b&\",0) ", ""));
    let ran = run(&["check", &serial, "--svg", &svg, "--force"]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(
        ran.err.contains("no violation was found: no picture"),
        "{}",
        ran.err
    );
    // Where nobody asked for a picture nothing is said of one.
    let ran = run(&["check", &file, "--model", "si"]);
    assert_eq!(ran.err, "");
    let nowhere = shown(&folder.path().join("no/such/folder.svg"));
    let ran = run(&["check", &file, "--model", "ser", "--svg", &nowhere]);
    assert_eq!(ran.code, Some(5), "{}", ran.err);
    assert!(ran.err.contains(&nowhere), "{}", ran.err);
}

#[test]
fn check_gives_up_reading_a_history_beyond_the_memory_limit() {
    let folder = folder();
    let text = many(399_999, |number| {
        format!("s1 w(k{number},{number}) r(k{number},{number})")
    });
    let file = write(&folder, "large.txt", &text);
    let limited = ["check", &file, "--model", "ser", "--memory", "16M"];
    let ran = run(&limited);
    assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("more than --memory"), "{}", ran.err);
    let ran = run(&["check", &file, "--model", "ser", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let last = ran.out.lines().last().expect("a line");
    let checked: Json = serde_json::from_str(last).expect("JSON");
    assert_eq!(checked["transactions"], 399_999);
}

/// The history alone is too large, or takes too long to read: the line of JSON says it, too.
#[test]
fn check_json_reports_a_limit_reached_before_the_check() {
    let folder = folder();
    let file = write(&folder, "skew.txt", SKEW);
    let limited = ["check", &file, "--memory", "1K", "--format", "json"];
    let ran = run(&limited);
    assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    assert_described_as("check", &ran.out);
    let told = summary(&ran);
    assert_eq!([&told["event"], &told["verdict"]], ["checked", "unknown"]);
    assert!(told["reason"].is_string() && told["transactions"].is_null());
    assert!(ran.err.contains(&file), "{}", ran.err);
}

/// Fourteen transactions that may have happened or not: the referee tries every choice of them.
fn long() -> String {
    let mut text = String::from("#! rashomon history 1\ninitial 0\n");
    for number in 1..=13 {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "indeterminate s{number} w(x,{number}) w(k{number},1)");
    }
    text.push_str("committed s14 r(x,99)\n");
    text
}

#[test]
fn check_names_the_time_limit_that_ended_it() {
    let folder = folder();
    let file = write(&folder, "long.txt", &long());
    let check = ["check", &file, "--with", "brute-force", "--model", "ser"];
    let ran = run(&[&check[..], &["--for", "1s"]].concat());
    assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    // On a busy machine the checker may not end by itself within the grace, and is given up.
    let says = ["unknown: --for is reached", "unknown: given up at --for"];
    assert!(
        says.iter().any(|words| ran.out.contains(words)),
        "{}",
        ran.out
    );
}

/// Interrupts a program that has had a second to start.
fn interrupted(command: &mut Command) -> Ran {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    std::thread::sleep(Duration::from_secs(1));
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a process"), Signal::INT).expect("it is signalled");
    ran(&child.wait_with_output().expect("it ends"))
}

#[test]
fn an_interrupted_check_exits_130_with_verdict_unknown() {
    let folder = folder();
    let file = write(&folder, "long.txt", &long());
    let check = ["check", &file, "--with", "brute-force", "--model", "ser"];
    for format in ["human", "json"] {
        let mut command = program(&[&check[..], &["--format", format]].concat());
        let ran = interrupted(&mut command);
        assert_eq!(ran.code, Some(130), "{}{}", ran.out, ran.err);
        assert!(ran.err.contains("interrupted"), "{}", ran.err);
        if format == "json" {
            let told = summary(&ran);
            assert_eq!([&told["event"], &told["verdict"]], ["checked", "unknown"]);
            assert_eq!([&told["reason"], &told["model"]], ["interrupted", "ser"]);
        }
    }
}

/// A pipe through which nothing comes is no reason to wait.
#[test]
fn check_reports_an_interruption_while_reading() {
    let mut command = program(&["check", "-", "--format", "json"]);
    let (reader, _kept_open) = std::io::pipe().expect("a pipe");
    command.stdin(reader);
    let ran = interrupted(&mut command);
    assert_eq!(ran.code, Some(130), "{}{}", ran.out, ran.err);
    assert_described_as("check", &ran.out);
    let told = summary(&ran);
    assert_eq!(
        [&told["verdict"], &told["reason"]],
        ["unknown", "interrupted"]
    );
    assert!(told["model"].is_null() && told["transactions"].is_null());
}

#[test]
fn check_refuses_a_limit_of_zero() {
    // The last two are the names these options had before.
    for limit in ["--for", "--memory", "--time-limit", "--memory-limit"] {
        let ran = run(&["check", "history.txt", limit, "0"]);
        assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
        assert!(ran.err.contains("leave the option out"), "{}", ran.err);
    }
}

#[test]
fn check_exits_by_the_verdicts_of_its_models() {
    let folder = folder();
    let skew = write(&folder, "skew.txt", SKEW);
    let serial = write(&folder, "serial.txt", &SKEW.replace("r(\"b&\",0) ", ""));
    let empty = write(&folder, "empty.txt", "#! rashomon history 1\ninitial 0\n");
    let ran = run(&["check", &skew]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("weakest violated: serializability"));
    let timed = std::fs::read_to_string(&serial).expect("it is there");
    let timed = timed
        .replace("s1 ", "s1 ~1..2 ")
        .replace("s2 ", "s2 ~1..2 ");
    let timed = write(&folder, "timed.txt", &timed);
    let ran = run(&["check", &timed]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let ran = run(&["check", &serial]);
    assert_eq!(ran.code, Some(3), "no real time: {}{}", ran.out, ran.err);
    let ran = run(&["check", &empty]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("no transaction"), "{}", ran.err);
}

/// Where nobody knows of a weaker model, a stronger one that is satisfied says it of both.
#[test]
fn check_accepts_weaker_models_when_a_stronger_one_is_satisfied() {
    let folder = folder();
    let doubtful = "indeterminate s1 ~1..4 r(x,0) w(x,1)\nindeterminate s2 ~1..4 r(x,0) w(x,1)\n\
                    committed s4 ~5..6 r(x,1)\n";
    let rest = many(20, |n| {
        format!("s3 ~{}..{} r(y,{}) w(y,{n})", n * 10, n * 10 + 5, n - 1)
    });
    let file = write(&folder, "doubtful.txt", &format!("{rest}{doubtful}"));
    let alone = run(&["check", &file, "--model", "si"]);
    assert_eq!(alone.code, Some(3), "{}{}", alone.out, alone.err);
    let ran = run(&["check", &file]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(!ran.out.contains("unknown"), "{}", ran.out);
}

#[test]
fn check_with_one_checker_asks_only_its_models_and_refuses_others() {
    let folder = folder();
    let stamped = SKEW.replace("s1 ", "s1 @1..3 ").replace("s2 ", "s2 @2..4 ");
    let file = write(&folder, "skew.txt", &stamped);
    let chronos = ["check", &file, "--with", "chronos"];
    let ran = run(&[&chronos[..], &["--format", "json"]].concat());
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert_described_as("check", &ran.out);
    let lines = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let models: Vec<Json> = lines.map(|line: Json| line["model"].clone()).collect();
    assert_eq!(models, [Json::from("si"), Json::from("ser"), Json::Null]);
    let ran = run(&[&chronos[..], &["--model", "rc"]].concat());
    assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("it decides si, ser only"), "{}", ran.out);
}

#[test]
fn every_field_of_the_lines_of_json_is_documented() {
    let folder = folder();
    let file = write(&folder, "skew.txt", SKEW);
    for arguments in [
        &["check", &file, "--explain", "--format", "json"][..],
        &[
            "check", &file, "--model", "sser", "--with", "weak", "--format", "json",
        ],
        &[
            "workload", "sqlite:", "--kind", "register", "--txns", "3", "-o", &file, "--force",
            "--format", "json",
        ],
    ] {
        let ran = run(arguments);
        assert_described_as(arguments[0], &ran.out);
        assert_documented(&ran);
    }
}

/// Nobody reads what is told, and the exit code says it all the same.
#[test]
fn check_with_closed_standard_output_still_exits_1() {
    let folder = folder();
    let file = write(&folder, "skew.txt", SKEW);
    for model in [&["--model", "ser", "--explain"][..], &[]] {
        let mut command = program(&[&["check", &file], model].concat());
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let status = command.stdout(writer).stderr(Stdio::null()).status();
        assert_eq!(status.expect("it ends").code(), Some(1), "{model:?}");
    }
}

#[test]
fn a_picture_does_not_replace_the_history_or_the_other_picture() {
    let folder = folder();
    let file = write(&folder, "skew.txt", SKEW);
    let picture = shown(&folder.path().join("picture"));
    for (pictures, says) in [
        (&["--svg", &file][..], "the history itself"),
        (&["--dot", &file], "the history itself"),
        (&["--dot", &picture, "--svg", &picture], "both name"),
        (&["--dot", "-"], "name a file"),
    ] {
        let ran = run(&[&["check", &file, "--model", "ser"], pictures].concat());
        assert_eq!(ran.code, Some(2), "{pictures:?}: {}", ran.err);
        assert!(ran.err.contains(says), "{pictures:?}: {}", ran.err);
        assert_eq!(std::fs::read_to_string(&file).expect("it is there"), SKEW);
    }
}

/// Checks what comes from standard input, which is this file.
fn from_stdin(file: &str, arguments: &[&str]) -> Ran {
    let mut command = program(&[&["check", "-"], arguments].concat());
    command.stdin(std::fs::File::open(file).expect("it is there"));
    ran(&command.output().expect("the program runs"))
}

#[test]
fn check_reads_every_format_from_standard_input() {
    let folder = folder();
    let ours = write(&folder, "skew.txt", SKEW);
    let text = write(&folder, "text", "w(1,2,1,1)\nr(1,2,2,2)\n");
    let ran = from_stdin(&ours, &["--model", "ser", "--format", "json"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert_eq!(summary(&ran)["file"], "-");
    for input in ["auto", "text"] {
        let ran = from_stdin(&text, &["--model", "ser", "--input", input]);
        assert_eq!(ran.code, Some(0), "{input}: {}{}", ran.out, ran.err);
    }
    // What comes through a pipe has no name that a picture could take.
    let mut command = program(&["check", "-", "--model", "ser", "--svg", "/dev/null"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let mut stream = child.stdin.take().expect("a pipe");
    stream.write_all(SKEW.as_bytes()).expect("it reads");
    drop(stream);
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    let ran = from_stdin(&ours, &["--model", "ser", "--svg", &ours]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("the history itself"), "{}", ran.err);
    assert_eq!(std::fs::read_to_string(&ours).expect("it is there"), SKEW);
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain).expect("memory");
    encoder.finish().expect("memory")
}

/// Writes a file of bytes; its path.
fn write_bytes(folder: &tempfile::TempDir, name: &str, bytes: &[u8]) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("written");
    shown(&path)
}

#[test]
fn check_reads_compressed_histories_from_file_and_standard_input() {
    let folder = folder();
    let zstd = ruzstd::encoding::compress_to_vec(
        SKEW.as_bytes(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    for (name, bytes) in [("gzip", gzip(SKEW.as_bytes())), ("zstd", zstd)] {
        let file = write_bytes(&folder, "skew", &bytes);
        for input in ["auto", "rashomon"] {
            let arguments = ["--model", "ser", "--format", "json", "--input", input];
            let from_file = run(&[&["check", &file], &arguments[..]].concat());
            for ran in [from_file, from_stdin(&file, &arguments)] {
                assert_eq!(ran.code, Some(1), "{name}: {}{}", ran.out, ran.err);
                assert_eq!(summary(&ran)["transactions"], 2, "{name}");
            }
        }
        let cut = write_bytes(&folder, "cut", &bytes[..bytes.len() - 9]);
        for ran in [
            run(&["check", &cut, "--model", "ser"]),
            from_stdin(&cut, &["--model", "ser"]),
        ] {
            assert_eq!(ran.code, Some(2), "{name}: {}{}", ran.out, ran.err);
            let says = format!("the {name} file ends too early");
            assert!(ran.err.contains(&says), "{}", ran.err);
        }
        let ran = run(&["watch", &file, "--model", "si", "--idle", "0s"]);
        assert_eq!(ran.code, Some(2), "{name}: {}{}", ran.out, ran.err);
        let says = format!("compressed by {name}: decompress it first, with {name} -dc");
        assert!(ran.err.contains(&says), "{}", ran.err);
    }
}

/// The compressed file is smaller than what is read between two looks at the memory.
#[test]
fn check_gives_up_a_compressed_history_beyond_the_memory_limit() {
    let folder = folder();
    let text = many(399_999, |number| {
        format!("s1 w(k{number},{number}) r(k{number},{number})")
    });
    let bytes = gzip(text.as_bytes());
    assert!(bytes.len() < 4 << 20, "{}", bytes.len());
    let file = write_bytes(&folder, "large.gz", &bytes);
    let ran = run(&["check", &file, "--model", "ser", "--memory", "16M"]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    assert!(
        ran.err
            .contains("the history alone takes more than --memory"),
        "{}",
        ran.err
    );
}

#[test]
fn check_of_an_unknown_format_lists_the_formats() {
    let folder = folder();
    let empty = write(&folder, "empty", "");
    let logs = shown(folder.path());
    for (path, says) in [(&empty, "the file is empty"), (&logs, "without .log files")] {
        let ran = run(&["check", path]);
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains(says), "{}", ran.err);
        assert!(ran.err.contains("--input NAME"), "{}", ran.err);
        assert!(ran.err.contains("jepsen-log, timekiller"), "{}", ran.err);
    }
}

#[test]
fn check_reports_the_place_of_a_ten_gigabyte_line() {
    let folder = folder();
    let file = write(&folder, "endless.txt", "#! rashomon history 1\n");
    // A hole: it takes no room on the disk.
    let sparse = std::fs::File::options().write(true).open(&file);
    let sparse = sparse.expect("it is there");
    sparse.set_len(10 << 30).expect("a long file");
    let ran = run(&["check", &file, "--model", "ser", "--memory", "200M"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("line 2, column"), "{}", ran.err);
    assert!(ran.err.len() < 1000, "{}", ran.err);
}

/// A recorder that was stopped leaves half a line, wherever the cut falls.
#[test]
fn check_reports_a_history_cut_within_its_last_line() {
    let folder = folder();
    let whole = many(9, |number| format!("s1 @{number}..{number} w(x,{number})"));
    let cuts: Vec<usize> = [1, 3, 6, 9, 14, 20, 25]
        .map(|left| whole.len() - left)
        .into();
    for end in cuts {
        let file = write(&folder, "cut.txt", &whole[..end]);
        for arguments in [
            &["check", &file, "--model", "ser"][..],
            &["watch", &file, "--model", "si", "--idle", "0s"],
        ] {
            let ran = run(arguments);
            assert_eq!(ran.code, Some(2), "{end}: {}{}", ran.out, ran.err);
            assert!(ran.err.contains("line 11, column"), "{end}: {}", ran.err);
            assert!(ran.err.contains("it was cut"), "{end}: {}", ran.err);
        }
    }
}
