//! What becomes of a finding at the end of its pursuit: known, one more sighting, or published and announced.

use std::path::PathBuf;

use super::event::{Announcement, RunEvent};
use super::ledger::{Led, Novelty, Showing};
use super::publish::{self, Reproducer};
use super::shared::Shared;
use super::sighting::Sighting;
use super::wall_clock::unix_seconds;
use crate::model::{Finding, FindingKind, Signature, UndecidedReason, Verdict};
use crate::oracle::Explained;
use crate::reproducer::{PublishError, Reproduced};

/// Whether a sighting is of the smallest case that shows its finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IsMinimized {
    Yes,
    No,
}

/// A finding whose pursuit the loss of the server interrupted. It is on disk as it was found, and is published
/// like that where the pursuit does not come to its end later.
#[derive(Debug)]
pub(super) struct HeldFinding {
    pub sighting: Sighting,
    pub showing: Showing,
    /// Where it is on disk.
    pub kept: PathBuf,
}

/// Where findings of one case are brought to their end.
#[derive(Clone, Copy)]
pub(super) struct Conclusion<'a> {
    pub shared: &'a Shared,
    pub index: u64,
}

impl Conclusion<'_> {
    /// Keeps a finding on disk as it was found, until it is published.
    pub(super) fn keep(&self, sighting: &Sighting) -> Result<PathBuf, PublishError> {
        publish::keep_raw(self.shared, &self.reproducer(sighting))
    }

    /// Publishes a finding as it was found.
    pub(super) fn publish_held(&self, held: &HeldFinding) -> Result<Verdict, PublishError> {
        let sighting = &held.sighting;
        let raw = &sighting.finding.signature;
        let verdict = match held.showing {
            Showing::Always => self.publish(sighting, IsMinimized::No, raw, Showing::Always)?,
            Showing::Sometimes => {
                self.publish_flaky(sighting, raw)?;
                let Reproduced { hits, runs } = sighting.reproduced;
                Verdict::Flaky { hits, runs }
            }
        };
        publish::discard(&held.kept);
        Ok(verdict)
    }

    /// An entry of the registry explains the finding, or it was published before.
    pub(super) fn is_old(&self, sighting: &Sighting) -> bool {
        let signature = &sighting.finding.signature;
        let explained = matches!(self.shared.explain(signature), Explained::Known(_));
        let state = self.shared.state();
        explained || state.ledger.published(signature).is_some()
    }

    pub(super) fn is_worth_minimizing(&self, signature: &Signature, showing: Showing) -> bool {
        let mut state = self.shared.state();
        state.ledger.is_worth_minimizing(signature, showing)
    }

    pub(super) fn note_minimized(&self, signature: &Signature, showing: Showing, led: Led) {
        let mut state = self.shared.state();
        state.ledger.minimized(signature, showing, led);
    }

    /// Known, duplicate or new: counts it or publishes it. What was not minimized is never known. The case as it was found, of
    /// signature `raw`, may have shown it now and then only.
    pub(super) fn publish(
        &self,
        sighting: &Sighting,
        minimized: IsMinimized,
        raw: &Signature,
        raw_shows: Showing,
    ) -> Result<Verdict, PublishError> {
        let signature = &sighting.finding.signature;
        let regression = match (minimized, self.shared.explain(signature)) {
            (IsMinimized::Yes, Explained::Known(id)) => {
                self.note_minimized(raw, raw_shows, Led::Known);
                return Ok(Verdict::Known(id));
            }
            (IsMinimized::Yes | IsMinimized::No, Explained::Regression(id)) => Some(id),
            (IsMinimized::No, Explained::Known(_)) | (_, Explained::Not) => None,
        };
        let shared = self.shared;
        let publishing = shared.publishing();
        let size = publish::size_of(&sighting.case);
        let place = self.shared.state().ledger.place(signature, size);
        let verdict = Verdict::Violation(Box::new(sighting.finding.clone()));
        if place == Novelty::Duplicate {
            let mut state = self.shared.state();
            let led = state.ledger.sighted(signature, unix_seconds());
            state.ledger.minimized(raw, raw_shows, led);
            state.statistics.duplicates += 1;
            return Ok(verdict);
        }
        let path = publish::publish(self.shared, &self.reproducer(sighting))?;
        let headline = sighting.finding.headline.clone();
        {
            let mut state = self.shared.state();
            let shown = path.display().to_string();
            let now = unix_seconds();
            state
                .ledger
                .publish(signature, &shown, &headline, size, now);
            state.ledger.minimized(raw, raw_shows, led_to(place));
            state.statistics.duplicates += u64::from(place == Novelty::Smaller);
        }
        drop(publishing);
        // On disk for good before it is announced: what was announced is never lost.
        let announcement = Announcement::of(
            &self.reproducer(sighting),
            &self.shared.settings,
            path,
            regression,
        );
        self.shared.tell(match place {
            Novelty::New => RunEvent::Finding(announcement),
            Novelty::Smaller | Novelty::Duplicate => RunEvent::Smaller(announcement),
        });
        Ok(verdict)
    }

    /// A finding that looks like those that many minimizations led to. Where these are explained by the
    /// registry, nothing is said of this one: it may be another.
    pub(super) fn count_unminimized(&self, raw: Sighting) -> Verdict {
        let mut state = self.shared.state();
        state.statistics.unminimized += 1;
        let signature = &raw.finding.signature;
        if state.ledger.looks_known(signature, Showing::Always) {
            Verdict::Undecided(UndecidedReason::NotMinimized)
        } else {
            Verdict::Violation(Box::new(raw.finding))
        }
    }

    /// Counts one more sighting of a finding that does not show every time, and is not minimized.
    pub(super) fn count_unminimized_flaky(&self, raw: &Signature) {
        let mut state = self.shared.state();
        state.statistics.unminimized += 1;
        state.ledger.sighted_flaky(raw, unix_seconds());
    }

    /// What explains that a statement gave two answers alone: such an answer seldom comes every time,
    /// and one statement is all that it takes, so there is nothing to minimize first.
    pub(super) fn explains_unstable(&self, finding: &Finding) -> Option<Verdict> {
        let signature = &finding.signature;
        if signature.kind != FindingKind::UnstableSerialAnswer {
            return None;
        }
        match self.shared.explain(signature) {
            Explained::Known(id) => Some(Verdict::Known(id)),
            Explained::Regression(_) | Explained::Not => None,
        }
    }

    /// Publishes a finding that does not show every time under `flaky/`, unless it was before and this
    /// case is no smaller.
    pub(super) fn publish_flaky(
        &self,
        sighting: &Sighting,
        raw: &Signature,
    ) -> Result<(), PublishError> {
        let signature = &sighting.finding.signature;
        let publishing = self.shared.publishing();
        let size = publish::size_of(&sighting.case);
        let place = self.shared.state().ledger.place_flaky(signature, size);
        if place == Novelty::Duplicate {
            let mut state = self.shared.state();
            let led = state.ledger.sighted_flaky(signature, unix_seconds());
            state.ledger.minimized(raw, Showing::Sometimes, led);
            return Ok(());
        }
        let path = publish::publish_flaky(self.shared, &self.reproducer(sighting))?;
        {
            let mut state = self.shared.state();
            let (shown, headline) = (path.display().to_string(), &sighting.finding.headline);
            let ledger = &mut state.ledger;
            let stamped = (sighting.reproduced, unix_seconds());
            ledger.publish_flaky(signature, &shown, headline, size, stamped);
            ledger.minimized(raw, Showing::Sometimes, led_to(place));
        }
        drop(publishing);
        let announcement = Announcement::of(
            &self.reproducer(sighting),
            &self.shared.settings,
            path,
            None,
        );
        self.shared.tell(match place {
            Novelty::New => RunEvent::Flaky(announcement),
            Novelty::Smaller | Novelty::Duplicate => RunEvent::Smaller(announcement),
        });
        Ok(())
    }

    pub(super) fn reproducer<'s>(&self, sighting: &'s Sighting) -> Reproducer<'s> {
        Reproducer {
            case: &sighting.case,
            finding: &sighting.finding,
            execution: &sighting.execution,
            reproduced: sighting.reproduced,
            remark: sighting.may_be_larger.then_some(publish::TIME_WAS_OVER),
            index: self.index,
        }
    }
}

/// What the minimization of a finding led to that has this place among the published ones.
fn led_to(place: Novelty) -> Led {
    match place {
        Novelty::New => Led::New,
        Novelty::Smaller | Novelty::Duplicate => Led::Seen,
    }
}
