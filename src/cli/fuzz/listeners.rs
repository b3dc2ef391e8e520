//! Who is told of a run while it goes on: people, a command of the user's, who asks for metrics.

use std::time::Duration;

use super::arguments::FuzzArguments;
use super::event_json::event_json;
use super::hook::FindingHook;
use super::live::RunReporter;
use super::metrics::MetricsServer;
use crate::campaign::{Activity, Listener, RunEvent, RunSettings, Statistics};
use crate::cli::exit::Failure;
use crate::cli::output::Output;
use crate::engine::Identity;

/// Passes each event and the numbers on to everybody.
pub(super) struct RunListeners<'a> {
    reporter: RunReporter<'a>,
    hook: Option<FindingHook>,
    metrics: Option<MetricsServer>,
}

impl<'a> RunListeners<'a> {
    /// # Errors
    /// When the address of `--metrics` cannot be listened at.
    pub(super) fn new(
        arguments: &'a FuzzArguments,
        output: &'a mut Output,
    ) -> Result<Self, Failure> {
        let metrics = arguments.metrics.map(MetricsServer::start).transpose()?;
        Ok(Self {
            reporter: RunReporter::new(arguments, output),
            hook: arguments.on_finding.as_deref().map(FindingHook::new),
            metrics,
        })
    }

    /// The first line of a run: its seed, before anything can go wrong.
    pub(super) fn started(
        &mut self,
        settings: &RunSettings,
        identity: &Identity,
        counterpart: Option<&Identity>,
    ) -> Result<(), Failure> {
        if let Some(metrics) = &mut self.metrics {
            metrics.started(settings, identity);
        }
        let metrics = self.metrics.as_ref().map(|metrics| metrics.address);
        self.reporter
            .started(settings.clone(), (identity, counterpart), metrics)
    }

    /// Takes the live line away, and waits for the calls of the command that are due.
    pub(super) fn finish(&mut self) {
        let troubles = self.hook.as_mut().map(FindingHook::finish);
        self.tell(troubles);
        self.reporter.finish();
    }

    fn tell(&mut self, troubles: Option<Vec<String>>) {
        for trouble in troubles.into_iter().flatten() {
            self.reporter.event(&RunEvent::Trouble(trouble));
        }
    }
}

impl Listener for RunListeners<'_> {
    fn event(&mut self, event: &RunEvent) {
        self.reporter.event(event);
        let is_finding = match event {
            RunEvent::Finding(_) | RunEvent::Smaller(_) | RunEvent::Flaky(_) => true,
            RunEvent::ServerLost { .. }
            | RunEvent::ServerBack { .. }
            | RunEvent::Unstable { .. }
            | RunEvent::Differs { .. }
            | RunEvent::CanaryUnheard { .. }
            | RunEvent::Stopping(_)
            | RunEvent::Trouble(_) => false,
        };
        if let Some(hook) = self.hook.as_mut().filter(|_| is_finding) {
            hook.tell(event_json(event).to_string());
        }
        if let Some(metrics) = &mut self.metrics {
            metrics.event(event);
        }
    }

    fn activities(&mut self, activities: &[Activity]) {
        self.reporter.activities(activities);
    }

    fn tick(&mut self, statistics: &Statistics, findings: usize, elapsed: Duration) {
        self.reporter.tick(statistics, findings, elapsed);
        if let Some(metrics) = &mut self.metrics {
            metrics.tick(statistics, findings, elapsed);
        }
        let troubles = self.hook.as_mut().map(FindingHook::look);
        self.tell(troubles);
    }
}
