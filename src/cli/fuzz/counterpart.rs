//! Before the first case of a run with `--against`: opens the second server, finds what both servers take and
//! promise, and proves its dialect.

use std::sync::Arc;

use super::proving::Proving;
use super::start;
use crate::campaign::{Counterpart, Listener, RunSettings, ServerWorkplace, StopFlag};
use crate::cli::exit::Failure;
use crate::dialect::Dialect;
use crate::engine::{self, EngineError, OpenOptions, Server};
use crate::generate::LevelChoice;

/// A second server that was opened.
pub(super) struct OpenedCounterpart {
    server: Box<dyn Server>,
    target: String,
    options: OpenOptions,
    pub(super) counterpart: Counterpart,
    /// What cases are drawn with: what both servers take, at levels at which both promise the same.
    pub(super) common: Dialect,
    /// Why the cases keep away from levels of the first server, in a sentence; none where they do not.
    pub(super) left_out: Option<String>,
}

/// Opens the second server of a run, where it has one.
///
/// # Errors
/// When it cannot be reached or used, or the two share nothing to compare.
pub(super) fn open(
    settings: &RunSettings,
    first_options: &OpenOptions,
    first: &dyn Server,
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
    let identity = server.identity().clone();
    let workplace = ServerWorkplace::new(&target, options.clone(), identity.clone());
    Ok(Some(OpenedCounterpart {
        left_out: left_out(first, &*server),
        counterpart: Counterpart {
            workplace: Arc::new(workplace),
            identity,
        },
        common,
        server,
        target,
        options,
    }))
}

impl OpenedCounterpart {
    /// The same, once its dialect is proved on it.
    ///
    /// # Errors
    /// When its dialect file is wrong, or it is lost and does not come back.
    pub(super) fn proved(
        self,
        settings: &RunSettings,
        stop: &StopFlag,
        listener: &mut dyn Listener,
    ) -> Result<Self, Failure> {
        let (target, options) = (&self.target, &self.options);
        let proving = Proving {
            settings,
            stop,
            open: &|| engine::open(target, options),
        };
        let (server, calibration) = proving.run(self.server, listener)?;
        start::check_calibration(&calibration, server.identity())?;
        Ok(Self { server, ..self })
    }
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
