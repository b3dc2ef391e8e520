//! The search for a serial order: depth first, commit order first, prefixes refuted as a whole.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Evidence, compare, counted};
use super::newest_children::{self, HiddenRows};
use crate::engine::EngineError;
use crate::execute::SerialRun;
use crate::model::{
    Aspect, CaseStatement, Difference, Outcome, SessionId, StatementId, StatementKind,
    StatementRecord, TransactionId,
};

/// What is searched.
pub(super) struct SerialOrderSearch<'a> {
    pub(super) evidence: &'a Evidence,
    /// In commit order.
    pub(super) transactions: &'a [TransactionId],
    /// Transactions that may be run.
    pub(super) budget: u32,
    /// Statements whose outcome is not compared, because a documented or registered behaviour explains it.
    pub(super) let_go: BTreeSet<StatementId>,
    /// Those of them that are left out, because they changed nothing in the run.
    pub(super) left_out: BTreeSet<StatementId>,
    /// Statements whose foreign keys look for children among the newest rows, by a registered behaviour.
    pub(super) asks_newest: BTreeSet<StatementId>,
    /// Whether the tables at the end are compared, too, and not answers alone.
    pub(super) to_the_end: bool,
}

/// How the search ended.
pub(super) enum SearchEnd {
    Found,
    /// Every order was refuted; the first difference in commit order is the evidence.
    None {
        tried: u32,
        first: Box<Difference>,
    },
    OutOfBudget,
}

/// The search under way.
struct Walk<'a, 'r> {
    search: &'a SerialOrderSearch<'a>,
    serial: &'r mut dyn SerialRun,
    /// Transactions that the serial run now holds, in order.
    placed: Vec<usize>,
    /// What is out of sight while these statements run: of each in the prefix as it was found for its place there.
    hidden: BTreeMap<StatementId, HiddenRows>,
    tried: u32,
    first: Option<Difference>,
}

enum Step {
    Found,
    Refuted,
    OutOfBudget,
}

impl<'a> SerialOrderSearch<'a> {
    fn walk<'r>(&'r self, serial: &'r mut dyn SerialRun) -> Walk<'r, 'r> {
        Walk {
            search: self,
            serial,
            placed: Vec::new(),
            hidden: BTreeMap::new(),
            tried: 0,
            first: None,
        }
    }

    pub(super) fn run(&self, serial: &mut dyn SerialRun) -> Result<SearchEnd, EngineError> {
        let mut walk = self.walk(serial);
        let step = walk.extend(&mut Vec::new())?;
        let tried = walk.tried;
        Ok(match (step, walk.first) {
            (Step::Found, _) => SearchEnd::Found,
            (Step::Refuted, Some(first)) => SearchEnd::None {
                tried,
                first: Box::new(first),
            },
            (Step::Refuted | Step::OutOfBudget, _) => SearchEnd::OutOfBudget,
        })
    }

    /// What refutes this order of two transactions between others; none where the order of their session does, or
    /// nothing.
    pub(super) fn refute(
        &self,
        serial: &mut dyn SerialRun,
        before: &[usize],
        order: [usize; 2],
        behind: &[usize],
    ) -> Result<Option<Difference>, EngineError> {
        if !self.may_follow(before, order[0]) {
            return Ok(None);
        }
        serial.reset()?;
        let mut walk = self.walk(serial);
        let all = before.iter().copied().chain(order);
        for next in all.chain(behind.iter().copied()) {
            if let Some(difference) = walk.place(next)? {
                return Ok(Some(difference));
            }
        }
        let placed = walk.placed.clone();
        walk.final_state(&placed)?;
        Ok(walk.first)
    }

    /// The same search, which compares what two of the transactions were answered and nothing else.
    pub(super) fn answers_of(&self, pair: [usize; 2]) -> Self {
        let pair = pair.map(|at| self.transactions[at]);
        let statements = self.evidence.case.statements.iter().map(|s| s.id);
        let others = statements.filter(|id| !pair.contains(&id.transaction));
        Self {
            let_go: self.let_go.iter().copied().chain(others).collect(),
            left_out: self.left_out.clone(),
            asks_newest: self.asks_newest.clone(),
            to_the_end: false,
            ..*self
        }
    }

    /// The search of [`Self::answers_of`], which compares what others read as well, and perhaps the tables at the end.
    pub(super) fn witnessed(&self, pair: [usize; 2], by: &[usize], to_the_end: bool) -> Self {
        let mut search = self.answers_of(pair);
        let readers: BTreeSet<TransactionId> = by.iter().map(|at| self.transactions[*at]).collect();
        let is_of_a_reader = |id: &StatementId| readers.contains(&id.transaction);
        search
            .let_go
            .retain(|id| self.let_go.contains(id) || !is_of_a_reader(id));
        search.to_the_end = to_the_end;
        search
    }

    /// The tables that a transaction may write.
    pub(super) fn written(&self, index: usize) -> BTreeSet<&'a str> {
        let transaction = self.transactions[index];
        let statements = self.evidence.case.statements.iter();
        statements
            .filter(|s| s.id.transaction == transaction)
            .flat_map(|s| s.effect.targets())
            .collect()
    }

    /// Whether a write of the transaction was answered without an error.
    pub(super) fn has_written(&self, index: usize) -> bool {
        let evidence = self.evidence;
        let is_done = |id: &StatementId| {
            let record = evidence.execution.records.get(id);
            record.is_some_and(|record| record.outcome.error_class().is_none())
        };
        let mut own = evidence.case.statements.iter();
        own.any(|s| {
            s.id.transaction == self.transactions[index]
                && s.effect.targets().next().is_some()
                && is_done(&s.id)
        })
    }

    fn session(&self, index: usize) -> Option<SessionId> {
        self.evidence.case.session_of(self.transactions[index])
    }

    /// Whether the transaction may come next: those before it in its session are placed.
    fn may_follow(&self, prefix: &[usize], index: usize) -> bool {
        let session = self.session(index);
        !prefix.contains(&index)
            && (0..self.transactions.len()).all(|other| {
                prefix.contains(&other)
                    || self.session(other) != session
                    || self.transactions[other] >= self.transactions[index]
            })
    }

    /// What is sent for a statement. Another transaction may come between two of a chain: each is begun and ended by itself.
    fn text(&self, statement: &'a CaseStatement) -> &'a str {
        let spelling = &self.evidence.dialect.spelling;
        match statement.effect.chains {
            true => spelling.plain_end(statement.effect.kind),
            false => &statement.sql,
        }
    }

    /// Tables that the transaction names, and those it may write.
    fn tables(&self, index: usize) -> (BTreeSet<&str>, BTreeSet<&str>) {
        let statements = || {
            self.evidence
                .case
                .statements
                .iter()
                .filter(|s| s.id.transaction == self.transactions[index])
        };
        let named = statements().flat_map(|s| s.effect.uses.iter().map(|u| u.table.as_str()));
        let written = statements().flat_map(|s| s.effect.targets());
        (named.collect(), written.collect())
    }

    /// Neither can see the other's work, so their order says nothing.
    fn commute(&self, a: usize, b: usize) -> bool {
        let opaque = |index: usize| {
            self.evidence.case.statements.iter().any(|s| {
                s.id.transaction == self.transactions[index]
                    && s.effect.kind == StatementKind::Opaque
            })
        };
        let ((named_a, written_a), (named_b, written_b)) = (self.tables(a), self.tables(b));
        !opaque(a)
            && !opaque(b)
            && written_a.is_disjoint(&named_b)
            && written_b.is_disjoint(&named_a)
    }
}

impl Walk<'_, '_> {
    fn extend(&mut self, prefix: &mut Vec<usize>) -> Result<Step, EngineError> {
        let search = self.search;
        if prefix.len() == search.transactions.len() {
            return self.final_state(prefix);
        }
        for next in 0..search.transactions.len() {
            if !search.may_follow(prefix, next) {
                continue;
            }
            // Of two neighbours that commute, only the order by commit is tried.
            let canonical = prefix
                .last()
                .is_none_or(|&last| last < next || !search.commute(last, next));
            if !canonical {
                continue;
            }
            if self.tried >= search.budget {
                return Ok(Step::OutOfBudget);
            }
            self.bring_to(prefix)?;
            self.hide_children(prefix, next)?;
            if let Some(difference) = self.place(next)? {
                self.first.get_or_insert(difference);
                continue;
            }
            prefix.push(next);
            let step = self.extend(prefix)?;
            prefix.pop();
            if !matches!(step, Step::Refuted) {
                return Ok(step);
            }
        }
        Ok(Step::Refuted)
    }

    /// Makes the serial run hold exactly the prefix.
    fn bring_to(&mut self, prefix: &[usize]) -> Result<(), EngineError> {
        if self.placed == prefix {
            return Ok(());
        }
        self.serial.reset()?;
        self.placed.clear();
        for &index in prefix {
            self.place(index)?;
        }
        Ok(())
    }

    /// Finds what the foreign keys of the transaction's statements do not see, were it to come behind the prefix.
    fn hide_children(&mut self, prefix: &[usize], next: usize) -> Result<(), EngineError> {
        let search = self.search;
        let transaction = search.transactions[next];
        let own = search.asks_newest.iter();
        for &id in own.filter(|id| id.transaction == transaction) {
            self.hidden.remove(&id);
            let beside = newest_children::committed_beside(search.evidence, id);
            let later: Vec<usize> = (0..search.transactions.len())
                .filter(|other| !prefix.contains(other))
                .filter(|other| beside.contains(&search.transactions[*other]))
                .collect();
            if later.is_empty() {
                continue;
            }
            let tables = newest_children::children(search.evidence, id);
            let before = self.contents(&tables)?;
            // What is hidden was found for other places than those.
            let hidden = std::mem::take(&mut self.hidden);
            for other in later {
                self.place(other)?;
            }
            self.hidden = hidden;
            let after = self.contents(&tables)?;
            self.bring_to(prefix)?;
            let gone = newest_children::gone(&before, &after);
            self.hidden.insert(id, gone);
        }
        Ok(())
    }

    fn contents(&mut self, tables: &BTreeSet<&str>) -> Result<HiddenRows, EngineError> {
        let mut all = HiddenRows::new();
        for &table in tables {
            all.insert(table.to_owned(), self.serial.contents(table)?);
        }
        Ok(all)
    }

    /// Runs one statement, whose foreign keys do not see what is hidden from it.
    fn run_statement(&mut self, statement: &CaseStatement) -> Result<Outcome, EngineError> {
        let none = HiddenRows::new();
        let hidden = self.hidden.get(&statement.id).unwrap_or(&none);
        for (table, rows) in hidden {
            self.serial.replace_rows(table, rows, &[])?;
        }
        let outcome = self.serial.run(&statement.sql)?;
        if !matches!(outcome, Outcome::Rejected(_)) {
            for (table, rows) in hidden {
                self.serial.replace_rows(table, &[], rows)?;
            }
        }
        Ok(outcome)
    }

    /// Runs one transaction; the first statement that differs, if one does.
    fn place(&mut self, index: usize) -> Result<Option<Difference>, EngineError> {
        self.tried += 1;
        self.placed.push(index);
        let search = self.search;
        let transaction = search.transactions[index];
        let mut difference = None;
        let case = &search.evidence.case;
        if case.chained_by(transaction).is_some()
            && let Some(begin) = case.begin_of(transaction)
        {
            self.serial.run(&begin.sql)?;
        }
        for statement in search
            .evidence
            .case
            .statements
            .iter()
            .filter(|s| s.id.transaction == transaction)
        {
            let Some(record) = search.evidence.execution.records.get(&statement.id) else {
                continue;
            };
            // No answer depends on how a table is stored, and a serial run would have to bring its indexes back.
            let is_physical = statement.effect.kind == StatementKind::PhysicalDdl;
            if is_physical
                || undone(search.evidence, record)
                || search.left_out.contains(&statement.id)
            {
                continue;
            }
            self.serial.adopt(search.evidence.case.mode_of(statement))?;
            counted::give(search.evidence, statement, &mut *self.serial)?;
            // Behind a difference the transaction may be one that the engine takes nothing in.
            let predicted = match difference {
                None if !statement.effect.chains => self.run_statement(statement)?,
                Some(_) | None => self.serial.run(search.text(statement))?,
            };
            let compared = !statement.effect.kind.is_control()
                && !statement.effect.depends_on_locks
                && !search.let_go.contains(&statement.id);
            if difference.is_some() || !compared {
                continue;
            }
            difference = compare::outcomes(&predicted, &record.outcome, statement.effect.row_order)
                .map(|mismatch| told(Some(statement.id), mismatch));
        }
        Ok(difference)
    }

    fn final_state(&mut self, prefix: &[usize]) -> Result<Step, EngineError> {
        let search = self.search;
        if !search.to_the_end {
            return Ok(Step::Found);
        }
        self.bring_to(prefix)?;
        for table in &search.evidence.case.tables {
            let Some(got) = search.evidence.execution.final_state.get(&table.name) else {
                continue;
            };
            let predicted = self.serial.contents(&table.name)?;
            if let Some((missing, extra)) = compare::table_difference(&predicted, got) {
                let mismatch = compare::Mismatch {
                    aspect: Aspect::FinalState,
                    direction: compare::difference_direction(&missing, &extra),
                    expected: format!("{}: {}", table.name, compare::rows_text(&missing)),
                    got: format!("{}: {}", table.name, compare::rows_text(&extra)),
                };
                self.first.get_or_insert(told(None, mismatch));
                return Ok(Step::Refuted);
            }
        }
        Ok(Step::Found)
    }
}

fn told(statement: Option<StatementId>, mismatch: compare::Mismatch) -> Difference {
    Difference {
        statement,
        aspect: mismatch.aspect,
        direction: mismatch.direction,
        expected: mismatch.expected,
        got: mismatch.got,
    }
}

/// Whether a serial run leaves the statement out: it was refused for what a serial run does not have.
pub(super) fn undone(evidence: &Evidence, record: &StatementRecord) -> bool {
    let class = record.outcome.error_class();
    class.is_some_and(|class| class.is_concurrency()) || evidence.timeline.held_read_only(record.id)
}
