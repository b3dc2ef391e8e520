//! A case taken apart, so that passes can cut at it.

use std::collections::{BTreeMap, BTreeSet};

use crate::dialect::Dialect;
use crate::model::{
    Effect, IsolationLevel, Pace, SessionId, SetupKind, SetupStatement, StatementId, TestCase,
    TransactionId,
};
use crate::statement::{self, Catalog};

/// One statement of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DraftLine {
    pub(super) session: SessionId,
    pub(super) sql: String,
    pub(super) effect: Effect,
    /// The transaction it belongs to, by the numbers of the case the draft was made of. Stable
    /// while lines are dropped or moved.
    pub(super) transaction: TransactionId,
    /// The finding is about this statement.
    pub(super) is_named: bool,
}

impl DraftLine {
    /// It opens or ends a transaction.
    pub(super) fn is_edge(&self) -> bool {
        self.effect.kind.is_begin() || self.effect.kind.is_end()
    }
}

/// Set-up, lines in submitted order, and levels. Everything else of a case follows from these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) setup: Vec<SetupStatement>,
    pub(super) lines: Vec<DraftLine>,
    isolation: BTreeMap<SessionId, IsolationLevel>,
    claim: Option<IsolationLevel>,
    pace: Pace,
    pub(super) prepared: BTreeSet<SessionId>,
}

impl Draft {
    /// `named`: the statements that the finding is about.
    pub(super) fn of(case: &TestCase, named: &BTreeSet<StatementId>) -> Self {
        Self {
            setup: case.setup.clone(),
            lines: case
                .statements
                .iter()
                .map(|s| DraftLine {
                    session: s.session,
                    sql: s.sql.clone(),
                    effect: s.effect.clone(),
                    transaction: s.id.transaction,
                    is_named: named.contains(&s.id),
                })
                .collect(),
            isolation: case.isolation.clone(),
            claim: case.claim,
            pace: case.pace,
            prepared: case.prepared.clone(),
        }
    }

    /// The case of this draft.
    pub(super) fn case(&self, dialect: &Dialect) -> TestCase {
        let catalog = Catalog::of(&self.setup, dialect);
        let resolved = |line: &DraftLine| catalog.resolved(&line.sql, line.effect.clone(), dialect);
        let lines = self
            .lines
            .iter()
            .map(|line| (line.session, line.sql.clone(), resolved(line)))
            .collect();
        let sessions: BTreeSet<SessionId> = self.lines.iter().map(|line| line.session).collect();
        let mut isolation = self.isolation.clone();
        isolation.retain(|session, _| sessions.contains(session));
        TestCase::new(
            self.setup.clone(),
            catalog.tables,
            lines,
            isolation,
            self.claim,
        )
        .at_pace(self.pace)
        .prepared_in(self.prepared.clone())
    }

    /// A hash of everything that decides what the case does: equal drafts are one candidate.
    pub(super) fn hash(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        let mut add = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        for setup in &self.setup {
            add(&setup.sql);
        }
        add("");
        for line in &self.lines {
            let level = self.isolation.get(&line.session);
            add(level.map_or("", |level| level.slug()));
            add(if self.prepared.contains(&line.session) {
                "prepared"
            } else {
                ""
            });
            add(&line.session.to_string());
            add(&line.sql);
        }
        *hasher.finalize().as_bytes()
    }

    /// The transactions, in order of first submission.
    pub(super) fn transactions(&self) -> Vec<TransactionId> {
        let mut transactions = Vec::new();
        for line in &self.lines {
            if !transactions.contains(&line.transaction) {
                transactions.push(line.transaction);
            }
        }
        transactions
    }

    /// The same case with only the lines that `keep` holds for, by their number.
    pub(super) fn with_lines(&self, keep: impl Fn(usize, &DraftLine) -> bool) -> Self {
        let mut draft = self.clone();
        let mut number = 0;
        draft.lines.retain(|line| {
            number += 1;
            keep(number - 1, line)
        });
        draft
    }

    /// The same case with other lines.
    pub(super) fn with(&self, lines: Vec<DraftLine>) -> Self {
        Self {
            lines,
            ..self.clone()
        }
    }

    /// The same case with another text for one line.
    pub(super) fn with_text(&self, line: usize, sql: &str, dialect: &Dialect) -> Self {
        let mut draft = self.clone();
        draft.lines[line].effect = statement::analyze(sql, dialect);
        sql.clone_into(&mut draft.lines[line].sql);
        draft
    }

    /// The same case with another set-up.
    pub(super) fn with_setup(&self, setup: Vec<SetupStatement>) -> Self {
        Self {
            setup,
            ..self.clone()
        }
    }

    /// The same case with sessions of other names.
    pub(super) fn with_sessions(&self, names: &BTreeMap<SessionId, SessionId>) -> Self {
        let name = |session: &SessionId| names.get(session).copied().unwrap_or(*session);
        let mut draft = self.clone();
        for line in &mut draft.lines {
            line.session = name(&line.session);
        }
        draft.isolation = self
            .isolation
            .iter()
            .filter(|(session, _)| names.contains_key(session))
            .map(|(session, level)| (name(session), *level))
            .collect();
        draft.prepared = self.prepared.iter().map(name).collect();
        draft
    }

    /// Positions of the set-up statements of a kind.
    pub(super) fn setup_of(&self, kind: SetupKind) -> Vec<usize> {
        self.setup
            .iter()
            .enumerate()
            .filter(|(_, setup)| setup.kind == kind)
            .map(|(position, _)| position)
            .collect()
    }

    /// How often the schedule goes from one session to another.
    pub(super) fn switches(&self) -> usize {
        self.lines
            .windows(2)
            .filter(|pair| pair[0].session != pair[1].session)
            .count()
    }
}
