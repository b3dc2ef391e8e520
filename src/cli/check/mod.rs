//! `rashomon check`: which consistency models does a history satisfy?

mod bounded;
mod limits;
mod load;
mod pictures;
mod promise;
mod waiting;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use limits::{Limit, STOP, memory_is_over, set_memory_limit};
use load::{HistorySource, Unread, load};
use promise::KeptPromise;
use waiting::Waiting;

use super::exit::{Exit, Failure};
use super::memory_use::peak_mebibytes;
use super::output::Output;
use super::output_file::Overwriting;
use super::quantity::{json_seconds, size, time_limit};
use super::signals;
use super::terminal::{Style, printable};
use super::value::OutputFormat;
use crate::checker::{self, Answer, Budget, Checker, Counterexample};
use crate::history::{Atom, History, RecordedPromise};
use crate::model::{ConsistencyModel, UnknownModel};

/// Checks a history of transactions against a consistency model
///
/// Reads the formats of the peers (see --input). Without --model it climbs the ladder from read
/// committed to strict serializability, as far as they are satisfied. Satisfied is exit 0 (without
/// --model: all of the ladder), violated 1, unknown 3, a history without transactions 4.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  rashomon check history.txt --model si --explain\n  rashomon check history.edn --dot cycle.dot --model ser\n  rashomon workload sqlite: --kind register -o - | rashomon check - --model ser\n\nThe lines of --format json, field by field: docs/checkers.md, \"Lines of JSON\""
)]
pub(super) struct CheckArguments {
    /// The history; a folder of Cobra's logs is one, and - is standard input
    file: PathBuf,

    /// What to check: rc, ra, cc, si, ser, sser, lin; all of the ladder without it
    #[arg(long, value_parser = model)]
    model: Option<ConsistencyModel>,

    /// The checker: mtc, weak, polysi, search, brute-force, chronos (by timestamps), or auto: the
    /// first that decides
    #[arg(long, value_name = "CHECKER", default_value = "auto")]
    with: String,

    /// The format: rashomon, text, sections, jepsen-log, timekiller, dbcop-json, elle,
    /// cobra, dbcop, or auto
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    input: String,

    /// The integer that every key holds at first, if the file does not say it
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    initial: Option<i64>,

    /// Print the counterexample edge by edge
    #[arg(long)]
    explain: bool,

    /// Write the counterexample as a Graphviz graph; of the weakest model violated
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,

    /// Write the counterexample as a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    #[command(flatten)]
    overwriting: Overwriting,

    /// Give up after this long: 30s, 5m
    #[arg(long = "for", alias = "time-limit", value_name = "TIME", value_parser = time_limit)]
    time: Option<Duration>,

    /// Give up when this much memory is in use: 512M, 4G
    #[arg(long, alias = "memory-limit", value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,

    /// How to say it: human or json
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,
}

pub(super) fn model(text: &str) -> Result<ConsistencyModel, String> {
    text.parse()
        .map_err(|error: UnknownModel| error.to_string())
}

pub(super) fn run(arguments: &CheckArguments, output: &mut Output) -> Result<Exit, Failure> {
    let ended = check(arguments, output);
    arguments.tell_undrawn(match &ended {
        Ok(exit) => *exit,
        Err(failure) => failure.exit,
    });
    ended
}

fn check(arguments: &CheckArguments, output: &mut Output) -> Result<Exit, Failure> {
    if arguments.with != "auto" && checker::by_name(&arguments.with).is_none() {
        let names: Vec<&str> = checker::CHECKERS.iter().map(|c| c.name()).collect();
        let message = format!(
            "unknown checker {:?}: auto, {}",
            arguments.with,
            names.join(", ")
        );
        return Err(Failure::usage(message));
    }
    set_memory_limit(arguments.memory.unwrap_or(0));
    arguments.check_pictures()?;
    signals::listen(&STOP)?;
    let budget = limits::budget(arguments.time);
    let begun = Instant::now();
    let waiting = Arc::new(Waiting::start());
    let place = HistorySource {
        file: arguments.file.clone(),
        input: arguments.input.clone(),
    };
    let loaded = load(place, budget, &waiting);
    waiting.pause();
    let mut history = match loaded {
        Ok(history) => history,
        Err(Unread::Failure(failure)) => return Err(failure),
        Err(Unread::Limit(limit)) => return given_up(arguments, limit, begun.elapsed(), output),
    };
    if let Some(initial) = arguments.initial {
        let atom = Atom::integer(initial);
        history.set_initial(atom.ok_or_else(|| Failure::usage("--initial is too small"))?);
    }
    if history.is_empty() {
        let message = format!(
            "{}: there is no transaction in it",
            arguments.file.display()
        );
        return Err(Failure {
            exit: Exit::Nothing,
            message,
        });
    }
    if memory_is_over() {
        return given_up(arguments, Limit::Memory, begun.elapsed(), output);
    }
    let subject = CheckedHistory {
        arguments,
        history: Arc::new(history),
        load: begun.elapsed(),
        budget,
        waiting,
    };
    match arguments.model {
        Some(model) => {
            let answer = subject.one(model, output)?;
            subject.pictures(&answer)?;
            let promise = subject.history.promised();
            subject.tell_promise(KeptPromise::by_one(promise, model, &answer), output)?;
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

/// The reason of a checker that is asked for a model that it does not decide.
fn decides_others(checker: &dyn Checker) -> String {
    let models: Vec<&str> = checker.models().iter().map(|model| model.slug()).collect();
    format!("it decides {} only", models.join(", "))
}

/// Prints that a limit was reached before anything was checked.
fn given_up(
    arguments: &CheckArguments,
    limit: Limit,
    load: Duration,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let reason = limit.to_string();
    if arguments.format == OutputFormat::Json {
        let mut line = unknown_line(arguments, arguments.model, load);
        line["reason"] = json!(reason);
        unless_unread(output.json(&line))?;
    }
    Err(Failure {
        exit: limit.exit(),
        message: format!("{}: {reason}", arguments.file.display()),
    })
}

/// The line of JSON of a check, as long as nothing is known.
fn unknown_line(
    arguments: &CheckArguments,
    model: Option<ConsistencyModel>,
    load: Duration,
) -> serde_json::Value {
    json!({
        "v": 1,
        "event": "checked",
        "file": arguments.file.display().to_string(),
        "model": model.map(ConsistencyModel::slug),
        "with": null,
        "verdict": "unknown",
        "anomaly": null,
        "elle": null,
        "promised": null,
        "transactions": null,
        "events": null,
        "load_s": json_seconds(load),
        "check_s": 0.0,
        "peak_rss_mb": peak_mebibytes(),
    })
}

/// A reader that went away changes no answer: the exit code still says it.
fn unless_unread(told: Result<(), Failure>) -> Result<(), Failure> {
    told.or_else(|failure| {
        if failure.exit == Exit::Clean {
            Ok(())
        } else {
            Err(failure)
        }
    })
}

/// A history with everything that its checks need.
struct CheckedHistory<'a> {
    arguments: &'a CheckArguments,
    history: Arc<History>,
    load: Duration,
    budget: Budget,
    waiting: Arc<Waiting>,
}

/// An answer, the checker that gave it, and the time it took.
struct Asked {
    with: &'static str,
    answer: Answer,
    check: Duration,
}

impl Asked {
    /// The same of a weaker model, if this one is satisfied.
    fn implied(&self) -> Option<Self> {
        matches!(self.answer, Answer::Satisfied(_)).then(|| Self {
            with: self.with,
            answer: self.answer.clone(),
            check: Duration::ZERO,
        })
    }
}

impl CheckedHistory<'_> {
    /// Checks one model and tells the answer.
    fn one(&self, model: ConsistencyModel, output: &mut Output) -> Result<Answer, Failure> {
        let asked = self.ask(model)?;
        self.tell_asked(model, &asked, output)?;
        Ok(asked.answer)
    }

    /// Checks one model.
    fn ask(&self, model: ConsistencyModel) -> Result<Asked, Failure> {
        let begun = Instant::now();
        self.waiting.checks(model, &self.arguments.with);
        let (with, answer) = match checker::by_name(&self.arguments.with) {
            Some(checker) if !checker.models().contains(&model) => {
                (checker.name(), Answer::Unknown(decides_others(checker)))
            }
            checker => self.bounded(model, checker)?,
        };
        let check = begun.elapsed();
        self.waiting.pause();
        let limit = Limit::that_was_reached(self.budget);
        let answer = match answer {
            Answer::Unknown(reason) => Answer::Unknown(limit.in_options(&reason)),
            answer @ (Answer::Satisfied(_) | Answer::Violated(_)) => answer,
        };
        Ok(Asked {
            with,
            answer,
            check,
        })
    }

    fn tell_asked(
        &self,
        model: ConsistencyModel,
        asked: &Asked,
        output: &mut Output,
    ) -> Result<(), Failure> {
        unless_unread(match self.arguments.format {
            OutputFormat::Json => output.json(&self.line_of(model, asked)),
            OutputFormat::Human => self.tell(model, asked, output),
        })?;
        let limit = Limit::that_was_reached(self.budget);
        match &asked.answer {
            Answer::Unknown(reason) if limit == Limit::Interrupted => Err(Failure {
                exit: limit.exit(),
                message: format!("{}: {reason}", self.arguments.file.display()),
            }),
            Answer::Satisfied(_) | Answer::Violated(_) | Answer::Unknown(_) => Ok(()),
        }
    }

    /// Asks a checker, or one after the other, as long as the limits allow it.
    fn bounded(
        &self,
        model: ConsistencyModel,
        checker: Option<&'static dyn Checker>,
    ) -> Result<(&'static str, Answer), Failure> {
        let (history, budget) = (Arc::clone(&self.history), self.budget);
        let answered = bounded::within(budget, move || match checker {
            None => checker::check(&history, model, budget),
            Some(checker) => (checker.name(), checker.check(&history, model, budget)),
        })?;
        Ok(answered.unwrap_or_else(|| {
            let reason = Limit::that_was_reached(budget).of_a_checker();
            (
                checker.map_or("auto", Checker::name),
                Answer::Unknown(reason),
            )
        }))
    }

    /// Draws the counterexample where that was asked for.
    fn pictures(&self, answer: &Answer) -> Result<(), Failure> {
        let Answer::Violated(found) = answer else {
            return Ok(());
        };
        let write = |path: &Option<PathBuf>, draw: fn(&History, &Counterexample) -> String| {
            let Some(path) = path else { return Ok(()) };
            let picture = draw(&self.history, found);
            self.arguments.overwriting.write(path, picture.as_bytes())
        };
        write(&self.arguments.dot, checker::dot)?;
        write(&self.arguments.svg, checker::svg)
    }

    /// The line of JSON of an answer.
    fn line_of(&self, model: ConsistencyModel, asked: &Asked) -> serde_json::Value {
        let mut line = unknown_line(self.arguments, Some(model), self.load);
        line["with"] = json!(asked.with);
        line["transactions"] = json!(self.history.len() - 1);
        line["events"] = json!(self.history.event_count());
        line["check_s"] = json!(json_seconds(asked.check));
        line["promised"] = json!(self.history.promised().map(RecordedPromise::slug));
        match &asked.answer {
            Answer::Satisfied(_) => line["verdict"] = json!("satisfied"),
            Answer::Violated(found) => {
                line["verdict"] = json!("violated");
                line["anomaly"] = json!(found.anomaly.slug());
                line["elle"] = json!(checker::elle(&self.history, found));
                if self.arguments.explain {
                    line["counterexample"] = json!(checker::in_words(&self.history, found));
                }
            }
            Answer::Unknown(reason) => line["reason"] = json!(reason),
        }
        line
    }

    fn tell(
        &self,
        model: ConsistencyModel,
        asked: &Asked,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let style = Style::of_stdout();
        let verdict = match &asked.answer {
            Answer::Satisfied(_) => style.green("satisfied"),
            Answer::Violated(found) => format!("{}: {}", style.red("violated"), found.anomaly),
            Answer::Unknown(reason) => {
                format!("{}: {}", style.yellow("unknown"), printable(reason))
            }
        };
        let (with, seconds) = (asked.with, asked.check.as_secs_f64());
        let model = model.to_string();
        output.line(&format!("{model:<22} {verdict}  ({with}, {seconds:.2} s)"))?;
        match &asked.answer {
            Answer::Violated(found) if self.arguments.explain => self.explain(found, output),
            Answer::Satisfied(_) | Answer::Violated(_) | Answer::Unknown(_) => Ok(()),
        }
    }

    fn explain(&self, found: &Counterexample, output: &mut Output) -> Result<(), Failure> {
        let words = checker::in_words(&self.history, found);
        output.line(printable(words.trim_end()).as_ref())
    }

    /// Tells people what was promised, where the file says so.
    fn tell_promise(&self, kept: KeptPromise, output: &mut Output) -> Result<(), Failure> {
        match self.history.promised() {
            Some(promise) if self.arguments.format == OutputFormat::Human => {
                let words = promise::in_words(&self.history, promise, kept);
                unless_unread(output.line(&words))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Asks for the next model of the ladder. If no checker decides it, the strongest is asked ahead of
    /// its turn: it may be the easier one (real time leaves fewer orders to try), and if it is
    /// satisfied, so are all others.
    fn next_of_ladder(
        &self,
        model: ConsistencyModel,
        strongest: ConsistencyModel,
        ahead: &mut Option<Asked>,
    ) -> Result<Asked, Failure> {
        if model == strongest
            && let Some(asked) = ahead.take()
        {
            return Ok(asked);
        }
        if let Some(implied) = ahead.as_ref().and_then(Asked::implied) {
            return Ok(implied);
        }
        let asked = self.ask(model)?;
        if !matches!(asked.answer, Answer::Unknown(_)) || model == strongest || ahead.is_some() {
            return Ok(asked);
        }
        let first = ahead.insert(self.ask(strongest)?);
        Ok(first.implied().unwrap_or(asked))
    }

    fn ladder(&self, output: &mut Output) -> Result<Exit, Failure> {
        let checker = checker::by_name(&self.arguments.with);
        let is_asked =
            |model: &ConsistencyModel| checker.is_none_or(|c| c.models().contains(model));
        let rungs: Vec<ConsistencyModel> = ConsistencyModel::LADDER
            .into_iter()
            .filter(is_asked)
            .collect();
        let top = rungs
            .last()
            .copied()
            .unwrap_or(ConsistencyModel::StrictSerializable);
        let (mut strongest, mut weakest) = (None, None);
        let mut ahead: Option<Asked> = None;
        for model in rungs {
            let asked = self.next_of_ladder(model, top, &mut ahead)?;
            self.tell_asked(model, &asked, output)?;
            self.pictures(&asked.answer)?;
            match asked.answer {
                Answer::Satisfied(_) => strongest = Some(model),
                Answer::Violated(_) => {
                    weakest = Some(model);
                    break;
                }
                Answer::Unknown(_) => {}
            }
        }
        let name = |model: Option<ConsistencyModel>| model.map(ConsistencyModel::slug);
        let kept = KeptPromise::by_ladder(self.history.promised(), strongest, weakest);
        unless_unread(match self.arguments.format {
            OutputFormat::Json => output.json(&json!({
                "v": 1,
                "event": "ladder",
                "file": self.arguments.file.display().to_string(),
                "strongest_satisfied": name(strongest),
                "weakest_violated": name(weakest),
                "promised": self.history.promised().map(RecordedPromise::slug),
                "promise_kept": kept.as_json(),
            })),
            OutputFormat::Human => {
                let shown = |model: Option<ConsistencyModel>| {
                    model.map_or("none".to_owned(), |m| m.to_string())
                };
                output.line(&format!(
                    "strongest satisfied: {}; weakest violated: {}",
                    shown(strongest),
                    shown(weakest)
                ))
            }
        })?;
        self.tell_promise(kept, output)?;
        // A satisfied model implies all weaker ones, those that no checker could tell included.
        Ok(match weakest {
            Some(_) => Exit::Finding,
            None if strongest == Some(top) => Exit::Clean,
            None => Exit::Inconclusive,
        })
    }
}
