//! The moment whose rows explain a wrong answer: stale, too new, or not committed.
//!
//! Nothing here excuses an answer. A statement that is already held for wrong is run alone on the rows of
//! other moments, and where one of them gives what the run gave, the finding gets the name of that.

use std::collections::BTreeSet;

use super::alone::{Alone, Contents, SeenTables};
use crate::engine::EngineError;
use crate::model::{
    AnomalyClass, CaseStatement, Outcome, ReadMode, Row, StatementId, Tick, TransactionId,
    TransactionStatus,
};
use crate::observe::{RowId, TableView, Version};
use crate::statement;

/// Rows that a statement may have seen in place of those that its level promises.
struct OtherMoment {
    rows: SeenTables,
    anomaly: AnomalyClass,
}

/// Which versions of other transactions are shown.
#[derive(Clone, Copy)]
pub(super) enum ShownUntil {
    /// What was committed before.
    Committed(Tick),
    /// The same without what its own transaction wrote.
    CommittedByOthers(Tick),
    /// Whatever was written before.
    Written(Tick),
}

impl Alone<'_> {
    /// What the answer of a statement is when it is the right answer on the rows of another moment; none
    /// where it is not.
    pub(super) fn anomaly(&mut self, id: StatementId) -> Result<Option<AnomalyClass>, EngineError> {
        let evidence = self.evidence;
        let Some(statement) = evidence.case.statement(id) else {
            return Ok(None);
        };
        for OtherMoment { rows, anomaly } in self.other_moments(statement) {
            if !self.can_stand(&rows) {
                continue;
            }
            // A write leaves its effect in the tables.
            if statement.effect.kind.is_write() {
                self.reset()?;
            }
            if self.does_the_same(statement, rows, false)? {
                return Ok(Some(anomaly));
            }
        }
        let is_stale = evidence.case.claim.is_some()
            && (self.shows_replaced_rows(statement) || self.cuts_among_older_rows(statement));
        Ok(is_stale.then_some(AnomalyClass::StaleRead))
    }

    /// The rows that a statement of one table was answered with, and that table.
    fn answered_rows<'c>(&'c self, statement: &'c CaseStatement) -> Option<(&'c [Row], &'c str)> {
        let record = self.evidence.execution.records.get(&statement.id)?;
        let [used] = statement.effect.uses.as_slice() else {
            return None;
        };
        let Outcome::Rows(given) = &record.outcome else {
            return None;
        };
        Some((given, &used.table))
    }

    /// Whether a LIMIT chose its rows among more than a table can hold: rows of the snapshot stand beside the own ones that took
    /// their row keys under another clustered key, and move what comes behind them.
    fn cuts_among_older_rows(&self, statement: &CaseStatement) -> bool {
        let Some((given, table)) = self.answered_rows(statement) else {
            return false;
        };
        let promised = self.promised(statement.id);
        let (Some(promised), Some(shape)) = (promised.get(table), self.evidence.case.table(table))
        else {
            return false;
        };
        let Some(clustered) = shape.clustered_key() else {
            return false;
        };
        let key = |row| shape.key_of(clustered, row);
        let chains = &self.evidence.account.chains;
        let mut older: Vec<&Row> = Vec::new();
        for (_, chain) in chains.table(table) {
            let own = chain.iter().rposition(|version| {
                let writer = chains.version(*version).writer;
                writer.transaction == statement.id.transaction
            });
            let Some((own, replaced)) = own.map(|at| (chain[at], &chain[..at])) else {
                continue;
            };
            let new = chains.row(own);
            let rows = replaced.iter().filter_map(|version| chains.row(*version));
            older.extend(rows.filter(|old| new.is_some_and(|new| key(old) != key(new))));
        }
        let stands =
            |row: &Row| promised.values().any(|other| other == row) || older.contains(&row);
        statement::without_limit(&statement.sql, &self.evidence.dialect).is_some()
            && !older.is_empty()
            && given.iter().all(stands)
    }

    /// Whether all rows of an answer stood in the table once, and one of them was replaced before. Where a weaker level ran than is
    /// claimed, a read may show a row of its snapshot beside the own one that took its key, which no table can hold.
    fn shows_replaced_rows(&self, statement: &CaseStatement) -> bool {
        let Some((given, table)) = self.answered_rows(statement) else {
            return false;
        };
        let promised = self.promised(statement.id);
        let Some(promised) = promised.get(table) else {
            return false;
        };
        let chains = &self.evidence.account.chains;
        let stood: BTreeSet<&Row> = chains
            .table(table)
            .flat_map(|(_, chain)| chain.split_last().map_or(&[][..], |(_, replaced)| replaced))
            .filter_map(|version| chains.row(*version))
            .collect();
        let is_replaced = |row: &&Row| !promised.values().any(|other| other == *row);
        let replaced: Vec<&Row> = given.iter().filter(is_replaced).collect();
        !replaced.is_empty() && replaced.iter().all(|row| stood.contains(row))
    }

    /// The tables of a statement as they were when each transaction before its answer had committed, the
    /// last first; as they were when it was sent, for one that waited; and with what was not committed.
    fn other_moments(&self, statement: &CaseStatement) -> Vec<OtherMoment> {
        let evidence = self.evidence;
        let Some(record) = evidence.execution.records.get(&statement.id) else {
            return Vec::new();
        };
        let promised = self.promised(statement.id);
        let ends = evidence.execution.transactions.values();
        let commits = ends.filter_map(|status| match status {
            TransactionStatus::Committed(tick) if *tick < record.answered => Some(Tick(tick.0 + 1)),
            TransactionStatus::Committed(_)
            | TransactionStatus::Aborted(_)
            | TransactionStatus::Indeterminate => None,
        });
        let moments: BTreeSet<Tick> = commits.chain([Tick(0)]).collect();
        let mut found = Vec::new();
        // Behind the promised moment the rows are too new, before it too old.
        let mut is_newer = self.reads_a_transaction_snapshot(statement);
        for &moment in moments.iter().rev() {
            let rows = self.rows_at(statement, ShownUntil::Committed(moment));
            if rows == promised {
                is_newer = false;
                continue;
            }
            let anomaly = match is_newer {
                true => too_new(&promised, &rows),
                false => AnomalyClass::StaleRead,
            };
            found.push(OtherMoment { rows, anomaly });
        }
        found.extend(self.hiding_own_rows(statement, &moments));
        if record.resumed() {
            // What came into its range while it waited is not seen: new rows, or those that were moved
            // within an index, too. The range was not locked.
            let sent = self.rows_at(statement, ShownUntil::Committed(record.sent));
            for moved in [false, true] {
                let mut rows = promised.clone();
                for (table, contents) in &mut rows {
                    let before = sent.get(table);
                    contents.retain(|row, values| {
                        let before = before.and_then(|rows| rows.get(row));
                        before.is_some_and(|before| !moved || before == values)
                    });
                }
                let anomaly = AnomalyClass::Phantom;
                found.push(OtherMoment { rows, anomaly });
            }
        }
        let rows = self.rows_at(statement, ShownUntil::Written(record.answered));
        let anomaly = AnomalyClass::DirtyRead;
        found.push(OtherMoment { rows, anomaly });
        // Where a weaker level ran than is claimed, a statement that waits may mix two moments, as documented.
        if record.resumed() && evidence.case.claim.is_some() {
            let sent = self.rows_at(statement, ShownUntil::Committed(record.sent));
            found.extend(mixes(&promised, &sent).into_iter().map(|rows| {
                let anomaly = AnomalyClass::ReadSkew;
                OtherMoment { rows, anomaly }
            }));
        }
        found.retain(|moment| moment.rows != promised);
        found
    }

    /// Older rows in place of those that a statement's own transaction wrote where others had written newer ones. Where a
    /// weaker level ran than is claimed, a write replaces rows that the snapshot does not hold, and a read by a key that the old
    /// row and the new one share finds the old one and stops.
    fn hiding_own_rows(
        &self,
        statement: &CaseStatement,
        moments: &BTreeSet<Tick>,
    ) -> Vec<OtherMoment> {
        if self.evidence.case.claim.is_none() || self.reads_a_transaction_snapshot(statement) {
            return Vec::new();
        }
        let at = |moment: &Tick| self.rows_at(statement, ShownUntil::CommittedByOthers(*moment));
        let newest = moments.last().map(at);
        let rows = moments.iter().rev().map(at);
        let older = rows.filter(|rows| Some(rows) != newest.as_ref());
        let stale = |rows| OtherMoment {
            rows,
            anomaly: AnomalyClass::StaleRead,
        };
        older.map(stale).collect()
    }

    /// The rows of the tables that a statement names, with what its own transaction wrote before.
    fn rows_at(&self, statement: &CaseStatement, until: ShownUntil) -> SeenTables {
        let tables = self.evidence.account.views.get(&statement.id);
        let tables = tables.into_iter().flatten().map(|(table, _)| table);
        tables
            .map(|table| (table.clone(), self.table_at(table, statement.id, until)))
            .collect()
    }

    /// The rows of one table, as this statement could be shown them.
    pub(super) fn table_at(&self, table: &str, reader: StatementId, until: ShownUntil) -> Contents {
        let chains = &self.evidence.account.chains;
        let shown = |id: &_| self.is_shown(chains.version(*id), reader, until);
        let rows = chains.table(table).map(|(row, chain)| {
            let seen = chain.iter().rev().copied().find(shown);
            (row.clone(), seen)
        });
        let rows: TableView = rows.collect();
        self.rows_of(&rows)
    }

    fn is_shown(&self, version: &Version, reader: StatementId, until: ShownUntil) -> bool {
        let (writer, execution) = (version.writer, &self.evidence.execution);
        let answered = execution.records.get(&reader).map(|record| record.answered);
        if version
            .undone
            .is_some_and(|undone| Some(undone) <= answered)
        {
            return false;
        }
        if writer.transaction == TransactionId::SETUP {
            return true;
        }
        if writer.transaction == reader.transaction {
            let is_left_out = matches!(until, ShownUntil::CommittedByOthers(_));
            return !is_left_out && writer.position < reader.position;
        }
        match until {
            ShownUntil::Committed(at) | ShownUntil::CommittedByOthers(at) => self
                .evidence
                .timeline
                .committed_before(writer.transaction, at),
            ShownUntil::Written(at) => {
                let record = execution.records.get(&writer);
                record.is_some_and(|record| record.sent < at)
            }
        }
    }

    fn reads_a_transaction_snapshot(&self, statement: &CaseStatement) -> bool {
        let mode = |role| self.evidence.promised_mode(statement, role);
        let mut uses = statement.effect.uses.iter();
        uses.any(|u| mode(u.role) == ReadMode::TransactionSnapshot)
    }
}

/// How many rows may differ between two moments of which every mix is tried.
const MIXED_ROWS: usize = 7;

/// Tables of which some rows are as at one moment and some as at the other; none where too many differ.
fn mixes(promised: &SeenTables, sent: &SeenTables) -> Vec<SeenTables> {
    let mut differing: Vec<(&String, &RowId, Option<&Row>)> = Vec::new();
    let empty = Contents::new();
    for (table, now) in promised {
        let then = sent.get(table).unwrap_or(&empty);
        let rows: BTreeSet<&RowId> = now.keys().chain(then.keys()).collect();
        let differ = rows.into_iter().filter(|row| now.get(row) != then.get(row));
        let then = |row| sent.get(table).and_then(|rows| rows.get(row));
        differing.extend(differ.map(|row| (table, row, then(row))));
    }
    if differing.len() > MIXED_ROWS {
        return Vec::new();
    }
    // Each bit puts one row back; all and none are moments of their own.
    let all = (1_u32 << differing.len()) - 1;
    let mix = |chosen: u32| {
        let mut tables = promised.clone();
        for (at, (table, row, then)) in differing.iter().enumerate() {
            if chosen & (1 << at) == 0 {
                continue;
            }
            let contents = tables.entry((*table).clone()).or_default();
            match then {
                Some(then) => contents.insert((*row).clone(), (*then).clone()),
                None => contents.remove(*row),
            };
        }
        tables
    };
    (1..all).map(mix).collect()
}

/// A phantom where all rows that differ are new ones.
fn too_new(promised: &SeenTables, newer: &SeenTables) -> AnomalyClass {
    let stands = |table: &String, row, values| {
        let before = promised.get(table).and_then(|rows| rows.get(row));
        before.is_none_or(|before| before == values)
    };
    let mut rows = newer
        .iter()
        .flat_map(|(table, rows)| rows.iter().map(move |r| (table, r)));
    let born = rows.all(|(table, (row, values))| stands(table, row, values));
    let gone = promised.iter().any(|(table, rows)| {
        let newer = newer.get(table);
        rows.keys()
            .any(|row| newer.is_none_or(|newer| !newer.contains_key(row)))
    });
    match born && !gone {
        true => AnomalyClass::Phantom,
        false => AnomalyClass::NonRepeatableRead,
    }
}
