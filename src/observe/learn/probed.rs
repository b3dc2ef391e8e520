//! What probes showed: reads that the sessions themselves made.

use std::collections::BTreeMap;

use super::{Learning, cell};
use crate::model::{Outcome, ProbeAnswer, ProbeTag, Row, StatementId, UndecidedReason, Value};
use crate::observe::View;
use crate::observe::chain::{Chains, VersionId};

impl Learning<'_> {
    /// Replaces the promised view by what the probes of this statement showed.
    pub(super) fn overlay_probes(
        &self,
        id: StatementId,
        view: &mut View,
    ) -> Option<UndecidedReason> {
        let probed = self.probed.get(&id);
        for (table, seen) in view.iter_mut() {
            let Some(shape) = self.case.table(table) else {
                continue;
            };
            let Some(rows) = probed.and_then(|tables| tables.get(table)) else {
                return Some(UndecidedReason::NoProbe);
            };
            let mut left: BTreeMap<Value, &Row> = BTreeMap::new();
            for row in rows {
                left.insert(cell(shape, shape.row_key.as_deref(), row)?, row);
            }
            // The newest row of a key first: a probe shows the one that stands.
            for (id, position) in seen.iter_mut().rev() {
                let chain = self.account.chains.chain(table, id);
                let shown = left
                    .get(&id.key)
                    .and_then(|row| newest_equal(&self.account.chains, chain, row));
                *position = match shown {
                    Some(version) => {
                        left.remove(&id.key);
                        Some(version)
                    }
                    None => position
                        .filter(|&id| self.account.chains.row(id).is_none())
                        .or_else(|| newest_deletion(&self.account.chains, chain)),
                };
            }
            if !left.is_empty() {
                return Some(UndecidedReason::VersionWithoutAKnownWriter);
            }
        }
        None
    }

    pub(super) fn probe(&mut self, probe: &ProbeAnswer) {
        let id = probe.statement;
        match (&probe.tag, &probe.outcome) {
            (ProbeTag::FixSnapshot, Outcome::Rows(_)) => {
                self.snapshots.entry(id.transaction).or_insert(probe.tick);
            }
            (ProbeTag::FixSnapshot | ProbeTag::Lock { .. }, _) => {}
            _ if probe.parted => {
                let unsure = &mut self.account.unsure;
                unsure.insert(id, UndecidedReason::PartedProbe);
            }
            (
                ProbeTag::BeforeWrite { table, .. } | ProbeTag::VersionSet { table, .. },
                Outcome::Rows(rows),
            ) => {
                let tables = self.probed.entry(id).or_default();
                tables.insert(table.clone(), rows.clone());
            }
            (ProbeTag::AfterWrite { table }, Outcome::Rows(rows)) => {
                let before = self.standing_for(table, id, probe.tick);
                self.adopt(table, rows, &before, &[id], probe.tick);
            }
            _ => {
                let unsure = &mut self.account.unsure;
                unsure.insert(id, UndecidedReason::RejectedProbe);
            }
        }
    }
}

fn newest_equal(chains: &Chains, chain: &[VersionId], row: &Row) -> Option<VersionId> {
    chain
        .iter()
        .rev()
        .copied()
        .find(|&id| chains.row(id) == Some(row))
}

fn newest_deletion(chains: &Chains, chain: &[VersionId]) -> Option<VersionId> {
    chain
        .iter()
        .rev()
        .copied()
        .find(|&id| chains.row(id).is_none())
}
