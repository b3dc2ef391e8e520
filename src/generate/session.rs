//! Sessions: transactions, the statements between them, and their merge into one order.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::entropy::Entropy;
use super::expand::Expander;
use super::options::{GenerateOptions, SAVEPOINT_ROOM};
use super::rows::Stock;
use super::schema::TablePlan;
use crate::dialect::{Capability, Dialect};
use crate::grammar::Grammar;
use crate::interleave::{TableAccess, merge};
use crate::model::{Effect, SessionId};
use crate::statement::{Catalog, analyze};

/// How often a rule is tried for a statement before the statement is left out.
const ATTEMPTS: usize = 4;

/// How often a READ ONLY transaction is given a statement that it may have to refuse, in percent.
const REFUSED_PERCENT: usize = 12;

/// In how many sessions, of a hundred, of a case with settings of the optimizer there is one; in how many
/// of these there is a second.
const SET_PERCENT: usize = 70;

/// One statement of a session, with the productions it came from.
#[derive(Clone, Debug)]
pub(super) struct DrawnStatement {
    pub session: SessionId,
    pub sql: String,
    pub effect: Effect,
    /// Labels of the productions it came from, sorted, without duplicates.
    pub productions: Vec<Arc<str>>,
    inside: bool,
}

impl DrawnStatement {
    /// A statement outside the transactions of its session, which no production draws.
    pub(super) fn outside(session: SessionId, sql: String, dialect: &Dialect) -> Self {
        Self {
            session,
            effect: analyze(&sql, dialect),
            sql,
            productions: Vec::new(),
            inside: false,
        }
    }

    /// A statement within a transaction of its session, which no production draws.
    pub(super) fn inside(session: SessionId, sql: String, dialect: &Dialect) -> Self {
        Self {
            inside: true,
            ..Self::outside(session, sql, dialect)
        }
    }

    /// After it, its session is inside a transaction.
    pub(super) fn is_inside(&self) -> bool {
        self.inside
    }
}

/// Draws the sessions of a case.
pub(super) struct SessionGenerator<'g, 'a, 'e> {
    pub grammar: &'g Grammar,
    pub dialect: &'g Dialect,
    pub tables: &'g [TablePlan],
    /// What the tables and their triggers make of statements.
    pub catalog: &'g Catalog,
    pub options: &'g GenerateOptions,
    /// Every write gives the rows it touches a fresh version key.
    pub version_keys: bool,
    pub entropy: &'a mut Entropy<'e>,
    pub stock: Stock,
}

impl<'e> SessionGenerator<'_, '_, 'e> {
    /// The statements of every session, merged into the submitted order.
    pub(super) fn lines(&mut self, sessions: usize) -> Vec<DrawnStatement> {
        let own: Vec<Vec<DrawnStatement>> = sessions_up_to(sessions)
            .map(|session| self.session(session))
            .collect();
        let steps: Vec<Vec<TableAccess>> = own
            .iter()
            .map(|lines| lines.iter().map(step).collect())
            .collect();
        let entropy = &mut *self.entropy;
        let order = merge(&steps, &mut |limit| entropy.below(limit));
        let mut remaining: Vec<_> = own.into_iter().map(Vec::into_iter).collect();
        order
            .into_iter()
            .filter_map(|session| remaining[session].next())
            .collect()
    }

    /// Settings of the optimizer, which come before everything else; none in most cases.
    pub(super) fn settings(&mut self, sessions: usize) -> Vec<DrawnStatement> {
        let mut lines = Vec::new();
        if self.dialect.plan_settings.is_empty()
            || !self.entropy.percent(self.options.plan_setting_percent)
        {
            return lines;
        }
        for session in sessions_up_to(sessions) {
            let mut left = 2;
            while left > 0 && self.entropy.percent(SET_PERCENT) {
                let rule = "session-setting";
                self.add(session, rule, &mut Vec::new(), false, &mut lines);
                left -= 1;
            }
        }
        lines
    }

    /// A text that a rule of the grammar gives; none where no production of it can be finished.
    pub(super) fn text(&mut self, rule: &str) -> Option<String> {
        self.drawn(rule).map(|(text, _)| text)
    }

    /// The same, with the labels of its productions.
    pub(super) fn drawn(&mut self, rule: &str) -> Option<(String, Vec<Arc<str>>)> {
        let mut savepoints = Vec::new();
        self.expander(&mut savepoints).statement(rule)
    }

    fn expander<'x>(&'x mut self, savepoints: &'x mut Vec<String>) -> Expander<'x, 'x, 'e> {
        Expander::new(
            self.grammar,
            self.dialect,
            self.tables,
            self.version_keys,
            self.entropy,
            &mut self.stock,
            savepoints,
        )
    }

    fn session(&mut self, session: SessionId) -> Vec<DrawnStatement> {
        let mut lines = Vec::new();
        let lone = self.dialect.supports(Capability::AutocommitStatement);
        for _ in 0..self.entropy.range(&self.options.transactions) {
            if lone && self.entropy.percent(self.options.lone_percent) {
                self.add(
                    session,
                    "lone-statement",
                    &mut Vec::new(),
                    false,
                    &mut lines,
                );
            }
            self.transaction(session, &mut lines);
        }
        lines
    }

    fn transaction(&mut self, session: SessionId, lines: &mut Vec<DrawnStatement>) {
        let mut savepoints = Vec::new();
        if !self.add(session, "begin", &mut savepoints, true, lines) {
            return;
        }
        if !lines.last().is_some_and(|line| line.effect.kind.is_begin()) {
            return;
        }
        let reads = began_read_only(lines, session, self.dialect);
        let returns = self.dialect.supports(Capability::Savepoint)
            && self.entropy.percent(self.options.savepoint_percent);
        let (rule, room) = match (reads, returns) {
            (true, _) => ("read-statement", 0),
            (false, true) => ("savepoint-statement", SAVEPOINT_ROOM),
            (false, false) => ("statement", 0),
        };
        for _ in 0..self.entropy.range(&self.options.statements) + room {
            let may_be_refused = reads && self.entropy.percent(REFUSED_PERCENT);
            let rule = if may_be_refused { "statement" } else { rule };
            self.add(session, rule, &mut savepoints, true, lines);
        }
        self.add(session, "end", &mut savepoints, false, lines);
    }

    /// Adds a statement; false when the grammar could not finish one.
    fn add(
        &mut self,
        session: SessionId,
        rule: &str,
        savepoints: &mut Vec<String>,
        inside: bool,
        lines: &mut Vec<DrawnStatement>,
    ) -> bool {
        for _ in 0..ATTEMPTS {
            if let Some((sql, productions)) = self.expander(savepoints).statement(rule) {
                let effect = analyze(&sql, self.dialect);
                // Engines refuse it, or the plan decides what comes first.
                let resolved = self.catalog.resolved(&sql, effect.clone(), self.dialect);
                if resolved.changes_what_it_uses() {
                    continue;
                }
                lines.push(DrawnStatement {
                    session,
                    effect,
                    sql,
                    productions,
                    inside,
                });
                return true;
            }
        }
        false
    }
}

/// Whether the last transaction that a session has begun there was started READ ONLY.
pub(super) fn began_read_only(
    before: &[DrawnStatement],
    session: SessionId,
    dialect: &Dialect,
) -> bool {
    let read_only = dialect.spelling.begin.get("read-only");
    let began = before
        .iter()
        .rfind(|line| line.session == session && line.effect.kind.is_begin());
    began.is_some_and(|line| Some(&line.sql) == read_only)
}

pub(super) fn sessions_up_to(count: usize) -> impl Iterator<Item = SessionId> {
    (1..=count).map(|number| SessionId(u32::try_from(number).unwrap_or(u32::MAX)))
}

fn step(line: &DrawnStatement) -> TableAccess {
    let tables = |targets: bool| -> BTreeSet<String> {
        line.effect
            .uses
            .iter()
            .filter(|u| u.role.is_target() == targets)
            .map(|u| u.table.clone())
            .collect()
    };
    TableAccess {
        reads: tables(false),
        writes: tables(true),
        inside: line.inside,
    }
}
