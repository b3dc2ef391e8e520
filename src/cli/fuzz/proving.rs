//! Before the first case: proves the dialect of a server on it. One that is lost meanwhile is waited for, as it
//! is in a case.

use crate::calibrate::{CalibrationError, CalibrationReport};
use crate::campaign::{Absence, AfterLoss, Listener, RunSettings, StopFlag, check_same};
use crate::cli::calibration::{failure, shown};
use crate::cli::exit::{Exit, Failure};
use crate::engine::{EngineError, Server};

/// A server that is lost in every calibration cannot be tested: it is given up after so many losses.
const LOSSES_MAX: u32 = 5;

/// A server whose dialect is to be proved, and how it is opened again.
pub(super) struct Proving<'a> {
    pub(super) settings: &'a RunSettings,
    pub(super) stop: &'a StopFlag,
    pub(super) open: &'a dyn Fn() -> Result<Box<dyn Server>, EngineError>,
}

impl Proving<'_> {
    /// Calibrates the server. Returns the one that stands at the end, opened again where it was lost.
    ///
    /// # Errors
    /// When the server does not come back, is another one then, or is lost again and again; when it rejects a
    /// statement; when a signal asks to stop.
    pub(super) fn run(
        &self,
        server: Box<dyn Server>,
        listener: &mut dyn Listener,
    ) -> Result<(Box<dyn Server>, CalibrationReport), Failure> {
        let identity = server.identity().clone();
        let mut absence = Absence::none_yet(0, self.settings.patience, self.stop);
        let (mut opened, mut losses, mut left) = (Some(server), 0, Vec::new());
        loop {
            let server = match opened.take() {
                Some(server) => Ok(server),
                None => (self.open)(),
            };
            let error = match server {
                Ok(server) => {
                    check_same(&identity, server.identity())?;
                    let back = absence.over();
                    back.iter().for_each(|back| listener.event(back));
                    drop_left(&*server, &mut left);
                    match shown(&*server, self.stop)? {
                        Ok(report) => return Ok((server, report)),
                        Err(CalibrationError::Engine(error)) => error,
                        Err(CalibrationError::Left { error, database }) => {
                            left.push(database);
                            error
                        }
                        Err(error @ CalibrationError::Interrupted) => {
                            return Err(failure(error, self.stop));
                        }
                    }
                }
                Err(error) => error,
            };
            if !absence.explains(&error) {
                return Err(error.into());
            }
            if let Some(lost) = absence.begins(None, &error) {
                listener.event(&lost);
                losses += 1;
            }
            if losses > LOSSES_MAX {
                return Err(Failure::environment(format!(
                    "the server was lost {losses} times during the calibration: {error}"
                )));
            }
            self.sit_out(&mut absence, &error)?;
        }
    }

    fn sit_out(&self, absence: &mut Absence, error: &EngineError) -> Result<(), Failure> {
        match absence.sit_out(error) {
            Ok(AfterLoss::TryAgain) => Ok(()),
            Ok(AfterLoss::Leave) => Err(Failure {
                exit: self
                    .stop
                    .signal()
                    .map_or(Exit::Interrupted, Exit::of_signal),
                message: format!("interrupted while the server was lost: {error}"),
            }),
            Err(over) => Err(Failure::environment(over)),
        }
    }
}

/// Drops what calibrations left behind that lost the server.
fn drop_left(server: &dyn Server, left: &mut Vec<String>) {
    for database in left.drain(..) {
        if let Err(error) = server.drop_database(&database) {
            tracing::warn!("cannot drop {database}: {error}; `rashomon clean` will");
        }
    }
}
