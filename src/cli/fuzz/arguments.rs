//! The command line of `rashomon fuzz`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::cli::profile::ProfileArguments;
use crate::cli::quantity::{number, positive, time};
use crate::cli::seed::{self, Seed};
use crate::cli::server::ServerArguments;
use crate::cli::value::{OutputFormat, learner_parser, level_parser, levels_parser, oracle_names};
use crate::generate::LevelChoice;
use crate::model::IsolationLevel;
use crate::observe::Learner;

/// Fuzzes an engine: generates cases, judges them, minimizes what disagrees
///
/// Every case runs interleaved in concurrent sessions, and is judged by the oracles that apply.
/// A violation is confirmed, minimized, and left as a script under --out that `rashomon replay`
/// confirms. Runs until --cases or --for is used up, or Ctrl-C.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct FuzzArguments {
    /// The server: sqlite:, mysql://USER:PW@HOST:PORT?socket=PATH, mariadb://..., tidb://..., postgres://...
    /// [default: sqlite:]
    pub(super) target: Option<String>,

    /// The oracles that judge, with commas between [default: all]
    #[arg(long, value_name = "ORACLES", value_delimiter = ',', value_parser = oracle_names())]
    pub(super) oracle: Vec<String>,

    /// read-uncommitted, read-committed, repeatable-read, serializable, all (each case draws one)
    /// or mixed (each session draws one) [default: all]
    #[arg(long, value_name = "LEVEL", value_parser = levels_parser(), hide_possible_values = true)]
    pub(super) isolation: Option<LevelChoice>,

    /// Judge by this stronger level than the one that is run
    #[arg(long, value_name = "LEVEL", value_parser = level_parser(), hide_possible_values = true)]
    pub(super) claim: Option<IsolationLevel>,

    /// How txcheck, troc and isolation learn what statements saw: probes (reads in the sessions) or
    /// observer (a connection beside them) [default: observer]
    #[arg(long, value_name = "HOW", value_parser = learner_parser(), hide_possible_values = true)]
    pub(super) observe: Option<Learner>,

    /// Draws the cases; the same seed draws the same cases, and SEED:INDEX, as reproducers have it,
    /// is one of them alone [default: drawn from the system]
    #[arg(long, value_name = "SEED", value_parser = seed::of_run)]
    pub(super) seed: Option<Seed>,

    /// Stop after this many cases
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(super) cases: Option<u64>,

    /// Run this case of the seed alone: the second part of a reproducer's `seed`
    #[arg(long, value_name = "INDEX", value_parser = number, conflicts_with_all = ["cases", "resume"])]
    pub(super) case: Option<u64>,

    /// Stop after this time: 30s, 10m, 1h30m
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    pub(super) time: Option<Duration>,

    /// Workers, each with its own databases and sessions [default: 1]
    #[arg(long, value_name = "N", value_parser = workers)]
    pub(super) workers: Option<usize>,

    /// The folder of the findings
    #[arg(long, value_name = "DIR", default_value = "reproducers")]
    pub(super) out: PathBuf,

    /// Go on with an interrupted run: its folder under OUT/runs. The TARGET may be named again,
    /// with its password
    #[arg(long, value_name = "DIR", conflicts_with_all = ["oracle", "isolation", "claim",
        "observe", "seed", "grammar", "dialect", "known", "out", "doublecheck", "claim_durable"])]
    pub(super) resume: Option<PathBuf>,

    /// How long to wait for a server that is lost before the run is given up [default: 10m]; if it
    /// is given, also for one that cannot be reached at the start
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) wait_for_server: Option<Duration>,

    /// With --oracle recovery: this command (sh -c) kills the server, hard, and starts it again; run by
    /// each case while its transactions are under way
    #[arg(long, value_name = "CMD", conflicts_with = "against", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(super) restart_command: Option<String>,

    /// With --oracle recovery: take it that every acknowledged commit survives a crash, although the
    /// server's settings do not promise it
    #[arg(long)]
    pub(super) claim_durable: bool,

    /// Run this command (sh -c) for each finding, flaky ones included, with the event of --format
    /// json on its standard input
    #[arg(long, value_name = "CMD", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(super) on_finding: Option<String>,

    /// Serve the numbers of the run to Prometheus here: 127.0.0.1:9464
    #[arg(long, value_name = "ADDR")]
    pub(super) metrics: Option<SocketAddr>,

    /// Write the groups that the run has found here at its end, as JUnit XML for a CI server
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,

    /// Run each case twice more and report where the two runs differ
    #[arg(long)]
    pub(super) doublecheck: bool,

    /// A second server, which runs the same cases: where it does something else and no oracle says why,
    /// the case is undecided and kept under OUT/runs. Draws what both take, at levels at which both
    /// promise the same
    #[arg(long, value_name = "TARGET")]
    pub(super) against: Option<String>,

    /// Registry of known behaviour, added to the built-in one; `none`: nothing is known, everything
    /// is a finding
    #[arg(long, value_name = "FILE|none")]
    pub(super) known: Option<PathBuf>,

    /// Grammar files to use instead of the built-in ones
    #[arg(long, value_name = "DIR")]
    pub(super) grammar: Option<PathBuf>,

    /// Print each production's acceptance rate on this engine at the end
    #[arg(long)]
    pub(super) explain_grammar: bool,

    /// Print only verdicts and findings at the end
    #[arg(long)]
    pub(super) brief: bool,

    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    pub(super) format: OutputFormat,

    #[command(flatten)]
    pub(super) server: ServerArguments,

    /// Read before the others are: what they come to is merged by then.
    #[command(flatten)]
    pub(super) profile: ProfileArguments,
}

const EXAMPLES: &str = "\
Examples:
  rashomon fuzz --for 30s
  rashomon fuzz 'mariadb://root@127.0.0.1:3306' --isolation all --for 8h --workers 2
  rashomon fuzz 'mysql://root@127.0.0.1:3306' --isolation read-committed --claim serializable
  rashomon fuzz 'mariadb://root@127.0.0.1:3306' --seed 1:12
  rashomon fuzz 'mariadb://root@127.0.0.1:3306' --on-finding 'mail -s finding me@example.org'
  rashomon fuzz 'mariadb://root@127.0.0.1:3306' --against 'mariadb://root@127.0.0.1:3307'
  rashomon fuzz 'postgres://postgres@127.0.0.1:5432' --oracle recovery --restart-command ./crash.sh
  rashomon fuzz --profile nightly --for 2h --explain-settings
  rashomon fuzz --resume reproducers/runs/1c0ffee2";

/// Reads a number of workers.
fn workers(text: &str) -> Result<usize, String> {
    let number = positive(text)?;
    usize::try_from(number).map_err(|_| "expected a smaller number".to_owned())
}
