//! The options of a workload, which `workload` and `watch` share.

use std::time::Duration;

use crate::cli::exit::Failure;
use crate::cli::quantity::{self, positive};
use crate::cli::seed;
use crate::cli::server::{ServerArguments, random_u64};
use crate::cli::value::level_parser;
use crate::engine::{self, Server};
use crate::model::IsolationLevel;
use crate::workload::{
    self, Distribution, UnknownDistribution, WORKLOADS, Workload, WorkloadError, WorkloadSettings,
};

/// Sessions, by default.
const SESSIONS: u32 = 10;

/// The transactions and the server.
#[derive(clap::Args, Debug)]
pub(in crate::cli) struct Load {
    /// Concurrent sessions [default: 10]
    #[arg(long, value_name = "N", value_parser = count)]
    sessions: Option<u32>,

    /// Transactions in all sessions together, retries not counted [default: 1000, or as many as
    /// fit in --for; watched ones go on until Ctrl-C]
    #[arg(long, value_name = "N", value_parser = positive)]
    txns: Option<u64>,

    /// Begin no transaction after this long: 30s, 5m
    #[arg(long = "for", value_name = "TIME", value_parser = quantity::time)]
    time: Option<Duration>,

    /// Keys in use at a time [default: by kind: 100, 1000, 20, 10]
    #[arg(long, value_name = "N", value_parser = count)]
    keys: Option<u32>,

    /// Operations of a transaction, for register and list-append [default: 8 and 4]
    #[arg(long, value_name = "N", value_parser = count)]
    ops: Option<u32>,

    /// Reads among the operations, in percent; for mini-transaction and lightweight the share of
    /// transactions that only read [default: by kind: 30, 50, 50, 0]
    #[arg(long, value_name = "PCT", value_parser = clap::value_parser!(u32).range(0..=100))]
    reads: Option<u32>,

    /// How keys are chosen: uniform, zipf, hotspot or exponential [default: uniform]
    #[arg(long, value_name = "DISTRIBUTION", value_parser = distribution)]
    keys_dist: Option<Distribution>,

    /// The isolation level of the sessions [default: the server's; with timestamps, that of its
    /// snapshots]
    #[arg(long, value_name = "LEVEL", value_parser = level_parser(), hide_possible_values = true)]
    isolation: Option<IsolationLevel>,

    /// Draws the transactions [default: drawn from the system]
    #[arg(long, value_name = "N", value_parser = seed::alone)]
    seed: Option<u64>,

    #[command(flatten)]
    server: ServerArguments,
}

impl Load {
    /// The settings of the workload; `transactions` is the default without `--txns` and `--for`.
    pub(in crate::cli) fn settings(
        &self,
        kind: &'static dyn Workload,
        transactions: Option<u64>,
    ) -> Result<WorkloadSettings, Failure> {
        if self.ops.is_some() && kind.defaults().operations.is_none() {
            let message = format!("--ops: {} decides its operations itself", kind.name());
            return Err(Failure::usage(message));
        }
        let mut settings = WorkloadSettings::of(kind);
        settings.sessions = self.sessions.unwrap_or(SESSIONS);
        settings.transactions = match (self.txns, self.time) {
            (None, None) => transactions,
            (asked, _) => asked,
        };
        settings.time = self.time;
        settings.keys = self.keys.unwrap_or(settings.keys);
        settings.operations = self.ops.unwrap_or(settings.operations);
        settings.reads_percent = self.reads.unwrap_or(settings.reads_percent);
        settings.distribution = self.keys_dist.unwrap_or(settings.distribution);
        settings.level = self.isolation;
        settings.seed = match self.seed {
            Some(seed) => seed,
            // Short enough to be read out and typed again.
            None => random_u64()? >> 24,
        };
        Ok(settings)
    }

    /// Opens the server for a run of this name, and gives the sessions the level that timestamps
    /// need where no other was asked for.
    ///
    /// A server without timestamps is refused before anything runs.
    pub(in crate::cli) fn open_for(
        &self,
        target: &str,
        run_id: &str,
        settings: &mut WorkloadSettings,
    ) -> Result<Box<dyn Server>, Failure> {
        let options = self.server.open_options(run_id)?;
        let server = engine::open(target, &options)?;
        if settings.timestamps {
            let needed = server.timestamps()?.level();
            settings.level.get_or_insert(needed);
        }
        Ok(server)
    }

    /// The first of these options that was given, for a command that takes none of them.
    pub(in crate::cli) fn given(&self) -> Option<&'static str> {
        [
            (self.sessions.is_some(), "--sessions"),
            (self.txns.is_some(), "--txns"),
            (self.time.is_some(), "--for"),
            (self.keys.is_some(), "--keys"),
            (self.ops.is_some(), "--ops"),
            (self.reads.is_some(), "--reads"),
            (self.keys_dist.is_some(), "--keys-dist"),
            (self.isolation.is_some(), "--isolation"),
            (self.seed.is_some(), "--seed"),
        ]
        .into_iter()
        .find_map(|(is_given, name)| is_given.then_some(name))
        .or(self.server.given())
    }
}

/// The kind of workload of this name.
pub(in crate::cli) fn kind(text: &str) -> Result<&'static dyn Workload, String> {
    workload::by_name(text).ok_or_else(|| {
        let names: Vec<&str> = WORKLOADS.iter().map(|kind| kind.name()).collect();
        format!("one of {}", names.join(", "))
    })
}

fn distribution(text: &str) -> Result<Distribution, String> {
    text.parse()
        .map_err(|error: UnknownDistribution| error.to_string())
}

/// A number from 1 that fits in 32 bits.
fn count(text: &str) -> Result<u32, String> {
    positive(text).and_then(|number| {
        u32::try_from(number).map_err(|_| "expected a smaller number".to_owned())
    })
}

/// What ended a workload; `output` is where the history went.
pub(in crate::cli) fn failure(error: WorkloadError, output: &str) -> Failure {
    match error {
        WorkloadError::Engine(error) => error.into(),
        WorkloadError::Settings(message) => Failure::usage(message),
        WorkloadError::Recorder(error) => {
            Failure::environment(format!("cannot write {output}: {error}"))
        }
        WorkloadError::Rejected { .. } | WorkloadError::Cell { .. } => {
            Failure::environment(error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_distributions_are_named_in_the_error() {
        assert!(kind("register").is_ok());
        let error = kind("bank").map(Workload::name).expect_err("no such kind");
        assert!(error.contains("list-append"), "{error}");
        let error = distribution("normal").expect_err("no such distribution");
        assert!(error.contains("hotspot"), "{error}");
        assert!(count("4294967296").is_err());
        assert!(count("0").is_err());
    }
}
