//! Every bar of speed and memory, measured: `cargo bench --bench bars [PART OF A NAME]`.
//!
//! Each bar is a file of a history and a process of its own that reads and checks it, so that the
//! memory is what `rashomon check` would take. Time is CPU time, user and system, reading included:
//! it means the same on a machine that does other things too. Nothing fails when a bar is missed;
//! the line says so.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

mod shapes;

use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use std::process::Command;

use rashomon::checker::{self, Answer, Budget};
use rashomon::history::format;
use rashomon::model::ConsistencyModel;
use shapes::{Engine, Shape};

/// A history, who checks it against what, and what that may cost.
struct Bar {
    name: &'static str,
    engine: Engine,
    shape: Shape,
    transactions: u64,
    format: &'static str,
    checks: &'static [(&'static str, &'static str, f64)],
    memory_mb: u64,
}

const BARS: &[Bar] = &[
    Bar {
        name: "mini 1M",
        engine: Engine::Serial,
        shape: Shape::Mini,
        transactions: 1_000_000,
        format: "text",
        checks: &[("mtc", "ser", 1.5), ("mtc", "si", 1.5)],
        memory_mb: 400,
    },
    Bar {
        name: "mini 1M, real time",
        engine: Engine::Serial,
        shape: Shape::Mini,
        transactions: 1_000_000,
        format: "rashomon",
        checks: &[("mtc", "sser", 2.0)],
        memory_mb: 400,
    },
    Bar {
        name: "general 1M, timestamps",
        engine: Engine::Serial,
        shape: Shape::General,
        transactions: 1_000_000,
        format: "rashomon",
        checks: &[("chronos", "si", 4.0), ("chronos", "ser", 4.0)],
        memory_mb: 1_000,
    },
    Bar {
        name: "general 1M",
        engine: Engine::Serial,
        shape: Shape::General,
        transactions: 1_000_000,
        format: "text",
        checks: &[
            ("weak", "rc", 4.0),
            ("weak", "ra", 5.0),
            ("weak", "cc", 10.0),
        ],
        memory_mb: 1_500,
    },
    general("general 1k", Engine::Serial, Shape::General, 1_000, 0.1),
    general("general 10k", Engine::Serial, Shape::General, 10_000, 8.0),
    general(
        "write-heavy 10k",
        Engine::Serial,
        Shape::WriteHeavy,
        10_000,
        0.6,
    ),
    general(
        "blind-write 16k",
        Engine::Serial,
        Shape::BlindWrite,
        16_000,
        0.5,
    ),
    general("mini 100k", Engine::Serial, Shape::Mini, 100_000, 1.0),
    // The same left by engines that let transactions overlap, and by faulty ones: no bars of their
    // own, held against the same.
    snapshot("general 1k, snapshots", Shape::General, 1_000, 0.1),
    snapshot("general 10k, snapshots", Shape::General, 10_000, 8.0),
    snapshot("write-heavy 10k, snapshots", Shape::WriteHeavy, 10_000, 0.6),
    snapshot("blind-write 16k, snapshots", Shape::BlindWrite, 16_000, 0.5),
    general(
        "general 1k, faulty",
        Engine::Faulty,
        Shape::General,
        1_000,
        0.1,
    ),
    general(
        "general 10k, faulty",
        Engine::Faulty,
        Shape::General,
        10_000,
        8.0,
    ),
    general(
        "write-heavy 10k, faulty",
        Engine::Faulty,
        Shape::WriteHeavy,
        10_000,
        0.6,
    ),
    general(
        "blind-write 16k, faulty",
        Engine::Faulty,
        Shape::BlindWrite,
        16_000,
        0.5,
    ),
    general(
        "mini 100k, faulty",
        Engine::Faulty,
        Shape::Mini,
        100_000,
        1.0,
    ),
];

const fn general(
    name: &'static str,
    engine: Engine,
    shape: Shape,
    transactions: u64,
    seconds: f64,
) -> Bar {
    Bar {
        name,
        engine,
        shape,
        transactions,
        format: "text",
        checks: match seconds {
            0.1 => &[("polysi", "ser", 0.1), ("polysi", "si", 0.1)],
            0.5 => &[("polysi", "ser", 0.5), ("polysi", "si", 0.5)],
            0.6 => &[("polysi", "ser", 0.6), ("polysi", "si", 0.6)],
            1.0 => &[("polysi", "ser", 1.0), ("polysi", "si", 1.0)],
            _ => &[("polysi", "ser", 8.0), ("polysi", "si", 8.0)],
        },
        memory_mb: 500,
    }
}

/// By a snapshot engine: serializability is not its to keep, but what it costs to say so counts.
const fn snapshot(name: &'static str, shape: Shape, transactions: u64, seconds: f64) -> Bar {
    general(name, Engine::Snapshot, shape, transactions, seconds)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [one, file, format, model, with] = &arguments[..]
        && one == "--one"
    {
        return check_one(Path::new(file), format, model, with);
    }
    // Cargo adds `--bench`.
    let wanted = arguments.iter().find(|a| !a.starts_with("--"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    println!(
        "| history | checker | model | verdict | CPU s (bar) | MB (bar) | |\n|---|---|---|---|---|---|---|"
    );
    for bar in BARS {
        if wanted.is_some_and(|part| !bar.name.contains(part.as_str())) {
            continue;
        }
        let file = folder.path().join("history");
        write(bar, &file);
        for (with, model, seconds) in bar.checks {
            measure(bar, &file, with, model, *seconds);
        }
    }
}

fn write(bar: &Bar, file: &Path) {
    let history = shapes::history(bar.engine, bar.shape, bar.transactions);
    let write = format::by_name(bar.format).and_then(|format| format.write);
    let mut out = BufWriter::new(std::fs::File::create(file).expect("a file"));
    write.expect("a writer")(&history, &mut out).expect("it is written");
    out.flush().expect("it is written");
}

fn measure(bar: &Bar, file: &Path, with: &str, model: &str, seconds: f64) {
    let this = std::env::current_exe().expect("this program");
    let child = Command::new(this)
        .args([
            "--one",
            &file.display().to_string(),
            bar.format,
            model,
            with,
        ])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&child.stdout).into_owned();
    let fields: Vec<&str> = said.split_whitespace().collect();
    let [verdict, load, check, memory] = fields[..] else {
        println!(
            "| {} | {with} | {model} | did not end: {} | | | |",
            bar.name, child.status
        );
        return;
    };
    let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
    let time = number(load) + number(check);
    let is_kept = time <= seconds && number(memory) <= bar.memory_mb as f64;
    println!(
        "| {} | {with} | {model} | {verdict} | {load} + {check} = {time:.2} ({seconds}) | {memory} ({}) | {} |",
        bar.name,
        bar.memory_mb,
        if is_kept { "" } else { "MISSED" }
    );
}

/// Reads and checks, and says what it took.
fn check_one(file: &Path, format: &str, model: &str, with: &str) {
    let read = format::by_name(format).expect("a format").read;
    let file = std::fs::File::open(file).expect("the history");
    let history = read(&mut BufReader::with_capacity(1 << 20, file)).expect("a history");
    let load = cpu_seconds();
    let model: ConsistencyModel = model.parse().expect("a model");
    let checker = checker::by_name(with).expect("a checker");
    let verdict = match checker.check(&history, model, Budget::default()) {
        Answer::Satisfied(_) => "satisfied".to_owned(),
        Answer::Violated(found) => found.anomaly.slug().to_owned(),
        Answer::Unknown(_) => "unknown".to_owned(),
    };
    let check = cpu_seconds() - load;
    println!("{verdict} {load:.2} {check:.2} {}", peak_mb());
}

/// CPU time of this process so far, from the kernel's account in ticks of 10 ms.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program ends with the last parenthesis.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks
        .filter_map(|field| field.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0
}

fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}
