//! The state that the workers of a run share.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_channel::Sender;

use super::activity::ActivityBoard;
use super::event::RunEvent;
use super::ledger::Ledger;
use super::parts::{Canary, CaseSource, Counterpart, Workplace};
use super::progress::{Allotment, Done};
use super::settings::RunSettings;
use super::statistics::Statistics;
use super::stop::StopFlag;
use crate::engine::Identity;
use crate::model::Signature;
use crate::oracle::{Explained, Explains, Oracle};
use crate::reproducer::Registry;

/// The part that changes while a run goes on.
pub(super) struct RunState {
    /// Cases that no worker has yet.
    pub allotment: Allotment,
    /// Indexes of the cases that were judged.
    pub done: Done,
    pub statistics: Statistics,
    /// The findings so far.
    pub ledger: Ledger,
    /// Shapes of differences from the counterpart of which this sitting has kept a case.
    pub differences_kept: BTreeSet<String>,
}

/// From a worker to the run.
pub(super) enum Message {
    RunEvent(Box<RunEvent>),
    /// A worker is through: there is nothing left to do, or it cannot go on.
    Ended(Result<(), String>),
}

/// Shared by the workers of a run.
#[derive(Clone)]
pub(super) struct Shared {
    pub workplace: Arc<dyn Workplace>,
    pub cases: Arc<dyn CaseSource>,
    pub oracles: Vec<&'static dyn Oracle>,
    pub registry: Registry,
    pub canary: Option<Canary>,
    pub identity: Identity,
    pub settings: RunSettings,
    pub stop: StopFlag,
    pub state: Arc<Mutex<RunState>>,
    /// Held from the question whether a finding is new until it is on disk and in the ledger: two
    /// workers that find the same at once publish it once.
    pub publishing: Arc<Mutex<()>>,
    pub activities: ActivityBoard,
    pub messages: Sender<Message>,
}

impl Shared {
    /// The same run with its counterpart as the server, for what is found there.
    pub(super) fn at(&self, counterpart: &Counterpart) -> Self {
        let target = self.settings.against.as_ref();
        Self {
            workplace: Arc::clone(&counterpart.workplace),
            identity: counterpart.identity.clone(),
            settings: RunSettings {
                target: target.unwrap_or(&self.settings.target).clone(),
                ..self.settings.clone()
            },
            ..self.clone()
        }
    }

    /// The state. A worker that panics ends the process, so no lock is ever left poisoned.
    pub(super) fn state(&self) -> MutexGuard<'_, RunState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the registry says of a finding on this server.
    pub(super) fn explain(&self, signature: &Signature) -> Explained {
        self.registry.on(&self.identity).explain(signature)
    }

    /// The right to publish.
    pub(super) fn publishing(&self) -> MutexGuard<'_, ()> {
        self.publishing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends an event to the run. After the run was given up it goes nowhere, and is not missed.
    pub(super) fn tell(&self, event: RunEvent) {
        let _ = self.messages.send(Message::RunEvent(Box::new(event)));
    }
}
