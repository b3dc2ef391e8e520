//! Aion on a stream of any length: `cargo bench --bench online -- --transactions 5000000`.
//!
//! The history is generated as it goes, valid by construction and told with random delays; only
//! the checker's own processor time counts, and its clock runs with it. `--write FILE` writes the
//! history in our line format instead, for `rashomon watch` and `rashomon check`.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use rashomon::checker::aion::{Aion, Settings};
use rashomon::history::synthetic::{Promise, Synthetic, SyntheticWorkload};
use rashomon::history::{Atom, Batch, Head, Kind, NamedEvent};
use rashomon::model::ConsistencyModel;

#[derive(Parser, Debug)]
struct Arguments {
    #[arg(long, default_value = "1000000")]
    transactions: u64,
    #[arg(long, default_value = "10000")]
    keys: u32,
    /// Keys are drawn alike, and not by Zipf's law
    #[arg(long)]
    uniform: bool,
    #[arg(long, default_value = "50")]
    reads_percent: u32,
    /// By how many transactions one may be told later than it committed
    #[arg(long, default_value = "1000")]
    delay: u64,
    #[arg(long, default_value = "24")]
    sessions: u32,
    #[arg(long, default_value = "si")]
    model: String,
    /// In seconds
    #[arg(long, default_value = "5")]
    timeout: u64,
    /// In megabytes
    #[arg(long, default_value = "4096")]
    memory: u64,
    /// A read of so many is tampered with; none with 0
    #[arg(long, default_value = "0")]
    wrong_one_in: u64,
    #[arg(long)]
    write: Option<PathBuf>,
    /// What cargo gives to every benchmark
    #[arg(long, hide = true)]
    bench: bool,
}

/// Transactions that are generated at once.
const BATCH: usize = 20_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let model: ConsistencyModel = arguments.model.parse()?;
    let promise = match model {
        ConsistencyModel::Snapshot => Promise::Snapshot,
        ConsistencyModel::ReadCommitted
        | ConsistencyModel::ReadAtomic
        | ConsistencyModel::Causal
        | ConsistencyModel::Serializable
        | ConsistencyModel::StrictSerializable
        | ConsistencyModel::Linearizable => Promise::Serial,
    };
    let workload = SyntheticWorkload {
        keys: arguments.keys,
        is_skewed: !arguments.uniform,
        reads_percent: arguments.reads_percent,
        delay: arguments.delay,
        sessions: arguments.sessions,
        ..SyntheticWorkload::general(promise, arguments.transactions)
    };
    let mut stream = Told {
        synthetic: Synthetic::new(workload),
        wrong_one_in: arguments.wrong_one_in,
        reads: 0,
        events: Vec::new(),
    };
    match &arguments.write {
        Some(path) => write(&mut stream, File::create(path)?),
        None => run(&mut stream, model, &arguments),
    }
}

/// The history, with some reads tampered with.
struct Told {
    synthetic: Synthetic,
    wrong_one_in: u64,
    reads: u64,
    events: Vec<NamedEvent>,
}

impl Told {
    fn tell(&mut self) -> Option<(Head, &[NamedEvent])> {
        let head = self.synthetic.tell(&mut self.events)?;
        for event in &mut self.events {
            self.reads += u64::from(event.kind == Kind::Read);
            let is_hit = self.wrong_one_in > 0 && event.kind == Kind::Read;
            if is_hit && self.reads.is_multiple_of(self.wrong_one_in) {
                event.value = Atom::NIL;
            }
        }
        Some((head, &self.events))
    }
}

fn run(
    stream: &mut Told,
    model: ConsistencyModel,
    arguments: &Arguments,
) -> Result<(), Box<dyn Error>> {
    let mut aion = Aion::new(Settings {
        model,
        timeout: Duration::from_secs(arguments.timeout),
        memory: arguments.memory << 20,
        folder: std::env::temp_dir(),
    });
    aion.set_initial(Synthetic::initial());
    let (mut batch, mut used) = (Batch::default(), Duration::ZERO);
    let mut told = 0;
    loop {
        batch.clear();
        for _ in 0..BATCH {
            let Some((head, events)) = stream.tell() else {
                break;
            };
            batch.push(&head, events);
        }
        if batch.is_empty() {
            break;
        }
        let begun = processor_time()?;
        aion.receive_batch(&batch, used)?;
        used += processor_time()? - begun;
        told += aion.take_breaches().len();
    }
    let begun = processor_time()?;
    aion.finish()?;
    used += processor_time()? - begun;
    told += aion.take_breaches().len();
    let summary = aion.summary();
    let rate = summary.transactions as f64 / used.as_secs_f64();
    let peak = std::fs::read_to_string("/proc/self/status")?;
    let peak = peak.lines().find(|line| line.starts_with("VmHWM:"));
    writeln!(
        std::io::stdout(),
        "{summary:?}\n{told} breaches told, {:.2} s of processor time, {rate:.0} transactions/s\n{}",
        used.as_secs_f64(),
        peak.unwrap_or_default()
    )?;
    Ok(())
}

/// What this thread has used, system calls included.
fn processor_time() -> Result<Duration, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let used = text.split_whitespace().next().ok_or("no schedstat")?;
    Ok(Duration::from_nanos(used.parse()?))
}

fn write(stream: &mut Told, file: File) -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let show = |atom: Atom| {
        atom.as_integer()
            .map_or("nil".to_owned(), |i| i.to_string())
    };
    writeln!(
        out,
        "#! rashomon history 1\ninitial {}",
        show(Synthetic::initial())
    )?;
    while let Some((head, events)) = stream.tell() {
        write!(out, "committed {}", show(head.session))?;
        if let Some(span) = head.timestamps {
            write!(out, " @{}..{}", span.from, span.to)?;
        }
        for event in events {
            let letter = match event.kind {
                Kind::Read => 'r',
                Kind::Write => 'w',
            };
            write!(out, " {letter}({},{})", show(event.key), show(event.value))?;
        }
        writeln!(out)?;
    }
    Ok(out.flush()?)
}
