//! `rashomon check`: which consistency models does a history satisfy?

mod limits;
mod waiting;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use limits::{MemoryIsOver, Watched, memory_is_over, set_memory_limit};
pub(super) use limits::{bytes, status_kib};
use waiting::Waiting;

use super::exit::{Exit, Failure};
use super::output::Output;
use super::terminal::{Style, printable};
use super::value::{self, Format};
use crate::checker::{self, Answer, Budget, Counterexample, Model};
use crate::history::{Atom, History, HistoryError, format};

/// Checks a history of transactions against a consistency model
///
/// Reads the formats of the peers (see --input). Without --model it climbs the ladder from read
/// committed to strict serializability. Satisfied is exit 0, violated 1, unknown 3.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  rashomon check history.txt --model si --explain\n  rashomon check history.edn --dot cycle.dot --model ser"
)]
pub(super) struct Arguments {
    /// The history; a folder of Cobra's logs is one
    file: PathBuf,

    /// What to check: rc, ra, cc, si, ser, sser, lin; all of the ladder without it
    #[arg(long, value_parser = model)]
    model: Option<Model>,

    /// Who checks: mtc, weak, polysi, search, brute-force, chronos (by timestamps), or auto: the
    /// first who knows
    #[arg(long, value_name = "CHECKER", default_value = "auto")]
    with: String,

    /// The format: rashomon, text, sections, jepsen-log, timekiller, dbcop-json, elle,
    /// cobra, dbcop, or auto
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    input: String,

    /// The integer that every key holds before anyone writes it, where the file does not say it
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    initial: Option<i64>,

    /// Tell the counterexample edge by edge
    #[arg(long)]
    explain: bool,

    /// Write the counterexample as a Graphviz graph; of the weakest model violated
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,

    /// Write the counterexample as a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Give up after this long: 30s, 5m
    #[arg(long, value_name = "TIME", value_parser = value::duration)]
    time_limit: Option<Duration>,

    /// Give up when this much memory is in use: 512M, 4G
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory_limit: Option<u64>,

    /// How to say it: human or json
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

pub(super) fn model(text: &str) -> Result<Model, String> {
    text.parse()
        .map_err(|error: checker::UnknownModel| error.to_string())
}

pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<Exit, Failure> {
    if arguments.with != "auto" && checker::by_name(&arguments.with).is_none() {
        let names: Vec<&str> = checker::CHECKERS.iter().map(|c| c.name()).collect();
        let message = format!(
            "unknown checker {:?}: auto, {}",
            arguments.with,
            names.join(", ")
        );
        return Err(Failure::usage(message));
    }
    set_memory_limit(arguments.memory_limit.unwrap_or(0));
    let budget = Budget {
        stop: arguments
            .memory_limit
            .map(|_| memory_is_over as fn() -> bool),
        ..Budget::of(arguments.time_limit)
    };
    let begun = Instant::now();
    let waiting = Waiting::start();
    let mut history = load(arguments, &waiting)?;
    if let Some(initial) = arguments.initial {
        let atom = Atom::integer(initial);
        history.set_initial(atom.ok_or_else(|| Failure::usage("--initial is too small"))?);
    }
    if memory_is_over() {
        return Err(too_large());
    }
    let subject = Subject {
        arguments,
        history: &history,
        load: begun.elapsed(),
        budget,
        waiting,
    };
    match arguments.model {
        Some(model) => {
            let answer = subject.one(model, output)?;
            subject.pictures(&answer)?;
            Ok(exit_of(&answer))
        }
        None => subject.ladder(output),
    }
}

fn exit_of(answer: &Answer) -> Exit {
    match answer {
        Answer::Satisfied(_) => Exit::Clean,
        Answer::Violated(_) => Exit::Finding,
        Answer::Unknown(_) => Exit::Inconclusive,
    }
}

fn too_large() -> Failure {
    Failure {
        exit: Exit::Inconclusive,
        message: MemoryIsOver.to_string(),
    }
}

fn load(arguments: &Arguments, waiting: &Waiting) -> Result<History, Failure> {
    let path: &Path = &arguments.file;
    let shown = path.display();
    if path.is_dir() {
        return format::read_folder(path).map_err(|error| failure(path, &error));
    }
    let file = File::open(path).map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    let watched = Watched::new(file, |read| waiting.reads(read, size));
    let mut stream = BufReader::with_capacity(1 << 20, watched);
    let read = match arguments.input.as_str() {
        "auto" => {
            format::detect(stream).and_then(|(format, mut stream)| (format.read)(&mut stream))
        }
        name => {
            let format = format::by_name(name).ok_or_else(|| {
                let names: Vec<&str> = format::FORMATS.iter().map(|format| format.name).collect();
                let names = names.join(", ");
                Failure::usage(format!("unknown format {name:?}: auto, {names}"))
            })?;
            (format.read)(&mut stream)
        }
    };
    read.map_err(|error| failure(path, &error))
}

fn failure(path: &Path, error: &HistoryError) -> Failure {
    let path = path.display();
    match error {
        HistoryError::Read(cause) if is_too_large(cause) => too_large(),
        HistoryError::Read(cause) => Failure::environment(format!("{path}: {error}: {cause}")),
        _ => Failure::usage(format!("{path}: {error}")),
    }
}

fn is_too_large(error: &std::io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(|inner| inner.is::<MemoryIsOver>())
}

/// What is checked, and how it is told.
struct Subject<'a> {
    arguments: &'a Arguments,
    history: &'a History,
    load: Duration,
    budget: Budget,
    waiting: Waiting,
}

impl Subject<'_> {
    /// Checks one model and tells the answer.
    fn one(&self, model: Model, output: &mut Output) -> Result<Answer, Failure> {
        let begun = Instant::now();
        self.waiting.checks(model, &self.arguments.with);
        let (with, answer) = match checker::by_name(&self.arguments.with) {
            None => checker::check(self.history, model, self.budget),
            Some(checker) if checker.models().contains(&model) => (
                checker.name(),
                checker.check(self.history, model, self.budget),
            ),
            Some(checker) => {
                let reason = format!("it does not decide {model}");
                (checker.name(), Answer::Unknown(reason))
            }
        };
        let check = begun.elapsed();
        self.waiting.pause();
        match self.arguments.format {
            Format::Json => self.tell_json(model, with, &answer, check, output)?,
            Format::Human => self.tell(model, with, &answer, check, output)?,
        }
        Ok(answer)
    }

    /// Draws the counterexample where that was asked for.
    fn pictures(&self, answer: &Answer) -> Result<(), Failure> {
        let Answer::Violated(found) = answer else {
            return Ok(());
        };
        let write = |path: &Option<PathBuf>, draw: fn(&History, &Counterexample) -> String| {
            let Some(path) = path else { return Ok(()) };
            std::fs::write(path, draw(self.history, found))
                .map_err(|error| Failure::environment(format!("{}: {error}", path.display())))
        };
        write(&self.arguments.dot, checker::dot)?;
        write(&self.arguments.svg, checker::svg)
    }

    fn tell_json(
        &self,
        model: Model,
        with: &str,
        answer: &Answer,
        check: Duration,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let seconds = |time: Duration| (time.as_secs_f64() * 1000.0).round() / 1000.0;
        let (verdict, anomaly, reason) = match answer {
            Answer::Satisfied(_) => ("satisfied", None, None),
            Answer::Violated(found) => ("violated", Some(found.anomaly.slug()), None),
            Answer::Unknown(reason) => ("unknown", None, Some(reason)),
        };
        let mut line = json!({
            "v": 1,
            "event": "checked",
            "file": self.arguments.file.display().to_string(),
            "model": model.slug(),
            "with": with,
            "verdict": verdict,
            "anomaly": anomaly,
            "transactions": self.history.len() - 1,
            "events": self.history.event_count(),
            "load_s": seconds(self.load),
            "check_s": seconds(check),
            "peak_rss_mb": status_kib("VmHWM:").map(|kib| kib / 1024),
        });
        if let (Some(reason), Some(fields)) = (reason, line.as_object_mut()) {
            fields.insert("reason".to_owned(), json!(reason));
        }
        if let (true, Answer::Violated(found)) = (self.arguments.explain, answer)
            && let Some(fields) = line.as_object_mut()
        {
            let words = checker::in_words(self.history, found);
            fields.insert("counterexample".to_owned(), json!(words));
        }
        output.json(&line)
    }

    fn tell(
        &self,
        model: Model,
        with: &str,
        answer: &Answer,
        check: Duration,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let style = Style::of_stdout();
        let verdict = match answer {
            Answer::Satisfied(_) => style.green("satisfied"),
            Answer::Violated(found) => format!("{}: {}", style.red("violated"), found.anomaly),
            Answer::Unknown(reason) => {
                format!("{}: {}", style.yellow("unknown"), printable(reason))
            }
        };
        let seconds = check.as_secs_f64();
        let model = model.to_string();
        output.line(&format!("{model:<22} {verdict}  ({with}, {seconds:.2} s)"))?;
        match answer {
            Answer::Violated(found) if self.arguments.explain => self.explain(found, output),
            _ => Ok(()),
        }
    }

    fn explain(&self, found: &Counterexample, output: &mut Output) -> Result<(), Failure> {
        let words = checker::in_words(self.history, found);
        output.line(printable(words.trim_end()).as_ref())
    }

    /// Climbs from the weakest model up. What a model violates all stronger ones violate too.
    fn ladder(&self, output: &mut Output) -> Result<Exit, Failure> {
        let (mut strongest, mut weakest, mut is_known) = (None, None, true);
        for model in Model::LADDER {
            let answer = self.one(model, output)?;
            self.pictures(&answer)?;
            match answer {
                Answer::Satisfied(_) => strongest = Some(model),
                Answer::Violated(_) => {
                    weakest = Some(model);
                    break;
                }
                Answer::Unknown(_) => is_known = false,
            }
        }
        let name = |model: Option<Model>| model.map(Model::slug);
        match self.arguments.format {
            Format::Json => output.json(&json!({
                "v": 1,
                "event": "ladder",
                "file": self.arguments.file.display().to_string(),
                "strongest_satisfied": name(strongest),
                "weakest_violated": name(weakest),
            }))?,
            Format::Human => {
                let shown =
                    |model: Option<Model>| model.map_or("none".to_owned(), |m| m.to_string());
                output.line(&format!(
                    "strongest satisfied: {}; weakest violated: {}",
                    shown(strongest),
                    shown(weakest)
                ))?;
            }
        }
        Ok(if weakest.is_some() || is_known {
            Exit::Clean
        } else {
            Exit::Inconclusive
        })
    }
}
