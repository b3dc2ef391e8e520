//! Before the first case of a run with `--against`: opens the second server, proves its dialect, and finds
//! what both servers take and promise.

use std::sync::Arc;

use super::start;
use crate::campaign::{Counterpart, RunSettings, ServerWorkplace, StopFlag};
use crate::cli::calibration::calibrated;
use crate::cli::exit::Failure;
use crate::dialect::Dialect;
use crate::engine::{self, EngineError, OpenOptions, Server};
use crate::generate::LevelChoice;

/// A second server that was opened and proved.
pub(super) struct OpenedCounterpart {
    pub(super) counterpart: Counterpart,
    /// What cases are drawn with: what both servers take, at levels at which both promise the same.
    pub(super) common: Dialect,
    /// Why the cases keep away from levels of the first server, in a sentence; none where they do not.
    pub(super) left_out: Option<String>,
}

/// Opens the second server of a run, where it has one.
///
/// # Errors
/// When it cannot be reached or used, its dialect file is wrong, or the two share nothing to compare.
pub(super) fn open(
    settings: &RunSettings,
    first_options: &OpenOptions,
    first: &dyn Server,
    stop: &StopFlag,
) -> Result<Option<OpenedCounterpart>, Failure> {
    let Some(target) = &settings.against else {
        return Ok(None);
    };
    let options = OpenOptions {
        // Both may be one server: its databases are not those of the first.
        run_id: format!("{}b", settings.run_id),
        dialect: None,
        password: target
            .password()
            .or(first_options.password.as_ref())
            .cloned(),
        ..first_options.clone()
    };
    let target = target.to_string();
    let option = format!("--against {target}");
    let named = |error: EngineError| Failure::from(error).about(&option);
    let server = engine::open(&target, &options).map_err(named)?;
    engine::require_cases(&*server).map_err(named)?;
    let common = first.dialect().in_common(server.dialect());
    let common = common.map_err(|error| Failure::usage(error.to_string()).about(&option))?;
    check_levels(settings, first, &*server)?;
    start::check_calibration(&calibrated(&*server, stop)?, server.identity())?;
    let identity = server.identity().clone();
    Ok(Some(OpenedCounterpart {
        left_out: left_out(first, &*server),
        counterpart: Counterpart {
            workplace: Arc::new(ServerWorkplace::new(&target, options, identity.clone())),
            identity,
        },
        common,
    }))
}

/// Refuses a level at which there is nothing to compare.
fn check_levels(
    settings: &RunSettings,
    first: &dyn Server,
    second: &dyn Server,
) -> Result<(), Failure> {
    let LevelChoice::One(level) = settings.levels else {
        return Ok(());
    };
    let differs = first.dialect().promises_otherwise(second.dialect(), level);
    differs.map_or(Ok(()), |reason| {
        Err(Failure::usage(format!(
            "{} and {} cannot be compared at {}: {reason}; choose another --isolation, or leave it out",
            first.identity().in_short(),
            second.identity().in_short(),
            level.slug()
        )))
    })
}

/// The levels at which there is nothing to compare, each with the reason.
fn left_out(first: &dyn Server, second: &dyn Server) -> Option<String> {
    let apart = first.dialect().levels_apart(second.dialect());
    let reasons = apart.iter();
    let reasons = reasons.map(|(level, reason)| format!("{}, where {reason}", level.slug()));
    let reasons: Vec<String> = reasons.collect();
    (!reasons.is_empty()).then(|| {
        format!(
            "{} and {} are not compared at {}",
            first.identity().in_short(),
            second.identity().in_short(),
            reasons.join("; ")
        )
    })
}
