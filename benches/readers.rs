//! How fast histories are read, format by format: `cargo bench --bench readers [-- OPTIONS]`.
//!
//! One history is written in every format that can hold it, and each of these files is read from
//! memory. Time is processor time, the least of `--rounds`; a megabyte is 1,000,000 bytes.
//! `--write FOLDER` leaves the files for `rashomon check`.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Parser;

use rashomon::history::synthetic::{Promise, Synthetic, SyntheticWorkload};
use rashomon::history::{Builder, Event, History, Kind, NamedEvent, format};

#[derive(Parser, Debug)]
struct Arguments {
    /// Of eight events each
    #[arg(long, default_value = "200000")]
    transactions: u64,
    #[arg(long, default_value = "3")]
    rounds: u32,
    /// A part of the name of what is to be read
    #[arg(default_value = "")]
    name: String,
    #[arg(long)]
    write: Option<PathBuf>,
    /// What cargo gives to every benchmark
    #[arg(long, hide = true)]
    bench: bool,
}

/// A file that is read: its name, its format, what it says.
type Sample = (&'static str, &'static str, fn(&History) -> Vec<u8>);

const SAMPLES: &[Sample] = &[
    ("rashomon", "rashomon", |h| written("rashomon", h)),
    ("text", "text", |h| written("text", h)),
    ("sections", "sections", |h| written("sections", h)),
    ("timekiller", "timekiller", |h| written("timekiller", h)),
    ("dbcop-json", "dbcop-json", |h| written("dbcop-json", h)),
    ("dbcop", "dbcop", |h| written("dbcop", h)),
    ("elle-edn", "elle", |h| written("elle", h)),
    ("elle-json-lines", "elle", |h| {
        json_operations(h, "", "\n", "\n")
    }),
    ("elle-json", "elle", |h| {
        json_operations(h, "[\n", ",\n", "\n]\n")
    }),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let history = history(arguments.transactions)?;
    println!(
        "{} transactions, {} events\n\n| file | MB | CPU s | MB/s | ns an event |\n|---|---|---|---|---|",
        history.len() - 1,
        history.event_count()
    );
    for (name, format, bytes) in SAMPLES {
        if !name.contains(&arguments.name) {
            continue;
        }
        let bytes = bytes(&history);
        if let Some(folder) = &arguments.write {
            std::fs::write(folder.join(name), &bytes)?;
        }
        let read = format::by_name(format).ok_or("a format")?.read;
        let mut least = f64::INFINITY;
        for _ in 0..arguments.rounds {
            let begin = cpu_seconds();
            let found = read(&mut &bytes[..])?;
            least = least.min(cpu_seconds() - begin);
            assert_eq!(found.event_count(), history.event_count(), "{name}");
        }
        let megabytes = bytes.len() as f64 / 1e6;
        println!(
            "| {name} | {megabytes:.0} | {least:.2} | {:.0} | {:.0} |",
            megabytes / least,
            least * 1e9 / history.event_count() as f64
        );
    }
    Ok(())
}

/// What is written and read: half of the events are reads, keys are drawn by Zipf's law.
fn history(transactions: u64) -> Result<History, Box<dyn Error>> {
    let workload = SyntheticWorkload::general(Promise::Serial, transactions);
    let mut synthetic = Synthetic::new(workload);
    let mut builder = Builder::new(Synthetic::initial());
    let (mut told, mut events) = (Vec::new(), Vec::new());
    while let Some(head) = synthetic.tell(&mut told) {
        for NamedEvent { kind, key, value } in told.drain(..) {
            let key = builder.key(key)?;
            events.push(Event { kind, key, value });
        }
        builder.transaction(&head, events.drain(..))?;
    }
    Ok(builder.finish())
}

/// The history as the writer of a format has it.
fn written(format: &str, history: &History) -> Vec<u8> {
    let mut bytes = Vec::new();
    let write = format::by_name(format).and_then(|format| format.write);
    write.expect("a writer")(history, &mut bytes).expect("the format holds it");
    bytes
}

/// Operations in JSON as elle-cli takes them, an invocation and a completion a transaction.
fn json_operations(history: &History, before: &str, between: &str, after: &str) -> Vec<u8> {
    let mut text = before.to_owned();
    for (at, transaction) in history.transactions().enumerate() {
        let process = history.session_of(transaction);
        for (is_end, kind) in [(false, "invoke"), (true, "ok")] {
            let index = at * 2 + usize::from(is_end);
            let part = if index == 0 { "" } else { between };
            let _ = write!(
                text,
                "{part}{{\"index\":{index},\"type\":\"{kind}\",\"process\":{process},\
                 \"time\":{index}000,\"f\":\"txn\",\"value\":["
            );
            for (place, event) in history.events(transaction).enumerate() {
                let part = if place == 0 { "" } else { "," };
                let Event { kind, key, value } = event;
                let key = history.show(history.key(key));
                let value = history.show(value);
                let _ = match kind {
                    Kind::Read if !is_end => write!(text, "{part}[\"r\",{key},null]"),
                    Kind::Read => write!(text, "{part}[\"r\",{key},{value}]"),
                    Kind::Write => write!(text, "{part}[\"w\",{key},{value}]"),
                };
            }
            text.push_str("]}");
        }
    }
    text.push_str(after);
    text.into_bytes()
}

/// Processor time of this process so far, in seconds, from the kernel's account.
fn cpu_seconds() -> f64 {
    let account = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = account.split_whitespace().next().unwrap_or_default();
    nanoseconds.parse::<f64>().unwrap_or(f64::NAN) / 1e9
}
