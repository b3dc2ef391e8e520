//! `rashomon fuzz`: the main job.

mod arguments;
mod commands;
mod counterpart;
mod event_json;
mod figures;
mod grammar_report;
mod hook;
mod junit;
mod listeners;
mod live;
mod live_display;
mod metrics;
mod proving;
mod recovery;
mod settings;
mod start;
mod summary;
mod summary_json;

use std::fs::File;
use std::sync::Arc;

use super::exit::{Exit, Failure};
use super::output::Output;
use super::server::random_u64;
use super::signals;
use super::value::{grammar, nothing_is_known, oracles_named, registry};
use crate::campaign::{
    self, CampaignError, Canary, Checkpoint, Generator, Listener, Parts, RunEvent, RunSettings,
    RunSummary, ServerWorkplace, StopFlag, WorkloadShare,
};
use crate::engine::{self, OpenOptions, Server};
use crate::reproducer::Registry;
pub(super) use arguments::FuzzArguments;
use counterpart::OpenedCounterpart;
pub(super) use figures::{clock, rate};
use listeners::RunListeners;
use proving::Proving;

pub(super) fn run(arguments: &FuzzArguments, output: &mut Output) -> Result<Exit, Failure> {
    let stop = StopFlag::default();
    signals::listen(&stop)?;
    if let Some(path) = &arguments.junit {
        junit::check(path)?;
    }
    let (settings, checkpoint) = settings::plan(arguments, random_u64)?;
    let out = settings.out.clone();
    let summary = carry_out(arguments, output, (settings, checkpoint), &stop);
    let summary = match (summary, &arguments.junit) {
        // Whoever reads the file is told, too, and does not take an earlier one for this run's.
        (Err(failure), Some(path)) if failure.exit == Exit::Environment => {
            junit::write_problem(path, &out, &failure.message)?;
            return Err(failure);
        }
        (summary, _) => summary?,
    };
    // The folder stays ours until its file is written.
    let (summary, _lock) = summary;
    let exit = summary::exit(&summary);
    let format = arguments.format;
    let grammar = match arguments.explain_grammar {
        true => grammar_report::print(&summary.statistics, format, output),
        false => Ok(()),
    };
    let junit = arguments.junit.as_deref();
    let junit = junit.map_or(Ok(()), |path| junit::write(path, &summary));
    let printed = grammar.and_then(|()| summary::print(&summary, arguments, format, output));
    match printed.and(junit) {
        // The reader of the output went away: the exit code tells what was found.
        Err(failure) if failure.exit != Exit::Clean => Err(failure),
        _ => Ok(exit),
    }
}

/// Opens the server, proves it and runs the cases. With what was found comes the lock of the run.
fn carry_out(
    arguments: &FuzzArguments,
    output: &mut Output,
    (settings, checkpoint): (RunSettings, Option<Checkpoint>),
    stop: &StopFlag,
) -> Result<(RunSummary, File), Failure> {
    let open_options = open_options(arguments, &settings)?;
    let target = settings.target.to_string();
    let open = || engine::open(&target, &open_options);
    let server = start::reached(arguments.wait_for_server, stop, open)?;
    engine::require_cases(&*server)?;
    settings::check_levels(&settings, server.dialect())?;
    settings::check_server(checkpoint.as_ref(), server.identity())?;
    recovery::check_server(&settings, &*server)?;
    let other = counterpart::open(&settings, &open_options, &*server)?;
    let there = other.as_ref().map(|other| &other.counterpart.identity);
    let mut live = RunListeners::new(arguments, output)?;
    live.started(&settings, server.identity(), there)?;
    if let Some(left_out) = other.as_ref().and_then(|other| other.left_out.clone()) {
        live.event(&RunEvent::Trouble(left_out));
    }
    let lock = start::prepare_output(&settings)?;
    let proving = Proving {
        settings: &settings,
        stop,
        open: &open,
    };
    let (server, calibration) = proving.run(server, &mut live)?;
    start::record_start(&settings, (server.identity(), there), &calibration)?;
    start::check_calibration(&calibration, server.identity())?;
    let other = other.map(|other| other.proved(&settings, stop, &mut live));
    let other = other.transpose()?;
    let parts = parts(&settings, &*server, open_options, other)?;
    drop(server);
    let summary = finish(parts, settings, checkpoint, stop, &mut live)?;
    Ok((summary, lock))
}

/// How the server is opened: a password of the URL comes before that of the file.
fn open_options(arguments: &FuzzArguments, settings: &RunSettings) -> Result<OpenOptions, Failure> {
    let mut server = arguments.server.clone();
    server.or_dialect(settings.dialect.as_deref());
    let mut options = server.open_options(&settings.run_id)?;
    options.nothing_is_known = nothing_is_known(settings.known.as_deref());
    if let Some(password) = settings.target.password() {
        options.password = Some(password.clone());
    }
    Ok(options)
}

fn parts(
    settings: &RunSettings,
    server: &dyn Server,
    open_options: OpenOptions,
    other: Option<OpenedCounterpart>,
) -> Result<Parts, Failure> {
    let (dialect, counterpart) = match other {
        Some(other) => (other.common, Some(other.counterpart)),
        None => (server.dialect().clone(), None),
    };
    let oracles = oracles_named(&settings.oracles, settings.learner);
    let identity = server.identity().clone();
    let target = settings.target.to_string();
    let options = settings.generate_options();
    Ok(Parts {
        workplace: Arc::new(
            ServerWorkplace::new(&target, open_options, identity.clone())
                .restarted_by(settings.restart()),
        ),
        cases: Arc::new(Generator {
            seed: settings.seed,
            grammar: grammar(settings.grammar.as_deref(), &dialect)?,
            workloads: WorkloadShare::of(&oracles, &options, &dialect),
            options,
            dialect,
        }),
        oracles,
        registry: registry_of(settings)?,
        identity,
        counterpart,
        canary: Some(Canary::planted()?),
    })
}

/// What is known in this run: the marks of its folder, the file that was named, what comes with the program.
fn registry_of(settings: &RunSettings) -> Result<Registry, Failure> {
    let registry = registry(settings.known.as_deref())?;
    if nothing_is_known(settings.known.as_deref()) {
        return Ok(registry);
    }
    let marks = Registry::of_folder(&settings.out);
    let marks = marks.map_err(|error| Failure::usage(error.to_string()))?;
    Ok(marks.extended(registry))
}

/// Runs the cases, and brings what tells of them to its end.
fn finish(
    parts: Parts,
    settings: RunSettings,
    checkpoint: Option<Checkpoint>,
    stop: &StopFlag,
    live: &mut RunListeners<'_>,
) -> Result<RunSummary, Failure> {
    let result = campaign::run(parts, settings, checkpoint, stop, live);
    live.finish();
    result.map_err(|error| match error {
        CampaignError::Publish(error) => Failure::environment(error.to_string()),
        CampaignError::Checkpoint(error) => Failure::environment(error.to_string()),
    })
}
