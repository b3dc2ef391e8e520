//! An interleaved run that ends because the server is killed under it.

use std::time::{Duration, Instant};

use crate::engine::{EngineError, STATEMENT_DEADLINE};
use crate::execute::restart::{RestartCommand, Restarting};
use crate::execute::scheduler::DriverAction;
use crate::model::Tick;

use super::InterleavedRun;

/// How long sessions may take to notice that the server is gone, once the command has ended.
const NOTICED_WITHIN: Duration = Duration::from_secs(2);

/// How long a run waits for answers at a time, while it ends.
const ANSWERS_WITHIN: Duration = Duration::from_millis(50);

/// When the server is killed, and what came of it.
pub(in crate::execute) struct Crash<'c> {
    command: &'c RestartCommand,
    /// The command is called once so many statements were answered.
    after: usize,
    under_way: Option<(Tick, Restarting<'c>)>,
    /// A session noticed that the server was gone.
    pub(in crate::execute) is_noticed: bool,
}

impl<'c> Crash<'c> {
    pub(in crate::execute) fn new(command: &'c RestartCommand, after: usize) -> Self {
        Self {
            command,
            after,
            under_way: None,
            is_noticed: false,
        }
    }

    fn start(&mut self, now: Tick) -> Result<(), EngineError> {
        if self.under_way.is_none() {
            self.under_way = Some((now, self.command.start()?));
        }
        Ok(())
    }

    /// Waits for the command. When it was called.
    pub(in crate::execute) fn finish(self) -> Result<Tick, EngineError> {
        let Some((at, restarting)) = self.under_way else {
            return Err(self.command.failed("was not called"));
        };
        restarting.finish().map(|()| at)
    }

    /// What a failure means: before the command was called the server was lost by itself.
    fn noticed(&mut self, result: Result<bool, EngineError>) -> Result<(), EngineError> {
        match result {
            Ok(_) => {}
            Err(error) if self.under_way.is_none() => return Err(error),
            Err(_) => self.is_noticed = true,
        }
        Ok(())
    }
}

impl InterleavedRun<'_, '_> {
    /// Runs the case at the free pace until the server is gone; every answer that came before is in the
    /// record.
    pub(in crate::execute) fn play_until_crash(
        &mut self,
        crash: &mut Crash<'_>,
    ) -> Result<(), EngineError> {
        self.set_levels()?;
        while !crash.is_noticed {
            if self.record.answers() >= crash.after {
                crash.start(self.record.now())?;
            }
            let result = match self.scheduler.next() {
                DriverAction::Send(step) => self.send(step).map(|()| true),
                DriverAction::Settle | DriverAction::AwaitAnswer => {
                    self.receive(STATEMENT_DEADLINE)
                }
                DriverAction::Observe(_) => Ok(true),
                DriverAction::Finish => break,
            };
            let nothing_answers = matches!(result, Ok(false));
            crash.noticed(result)?;
            if nothing_answers {
                break;
            }
        }
        crash.start(self.record.now())?;
        self.take_last_answers(crash)
    }

    /// Takes the answers that are still under way: an acknowledged COMMIT among them is a promise.
    fn take_last_answers(&mut self, crash: &mut Crash<'_>) -> Result<(), EngineError> {
        let mut ended: Option<Instant> = None;
        while !self.stage.sessions.away().is_empty() {
            let result = self.receive(ANSWERS_WITHIN);
            crash.noticed(result)?;
            let has_ended = match &mut crash.under_way {
                Some((_, restarting)) => restarting.has_ended()?,
                None => true,
            };
            if has_ended && ended.get_or_insert_with(Instant::now).elapsed() > NOTICED_WITHIN {
                break;
            }
        }
        Ok(())
    }
}
