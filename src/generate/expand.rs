//! From a rule of the grammar to the text of a statement.
//!
//! A production that cannot be finished (no column of the class, no second table) is taken back
//! and another one is drawn, so that a grammar need not know which tables a case has.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::entropy::Entropy;
use super::rows::Stock;
use super::schema::TablePlan;
use super::scope::{ColumnRef, Frame, KeyListing, ScopedRelation, Shown};
use crate::dialect::{Dialect, TypeClass};
use crate::grammar::{Builtin, Grammar, ProductionItem, Wanted, is_meant_to_fail};

/// Beyond this depth only the shortest productions are drawn.
const DEPTH: u32 = 9;

/// Rule calls after which a statement is given up.
const CALLS: u32 = 2_000;

/// The meaning of a local name of a production.
#[derive(Clone, Debug)]
pub(super) enum Bound {
    Relation(ScopedRelation),
    Column(ColumnRef),
}

pub(super) type Locals<'g> = BTreeMap<&'g str, Bound>;

/// The expansion of one statement.
pub(super) struct Expander<'g, 'a, 'e> {
    pub grammar: &'g Grammar,
    pub dialect: &'g Dialect,
    pub tables: &'g [TablePlan],
    pub entropy: &'a mut Entropy<'e>,
    pub stock: &'a mut Stock,
    /// Every write gives the rows it touches a fresh version key.
    pub version_keys: bool,
    /// Savepoints open in the session, oldest first.
    pub savepoints: &'a mut Vec<String>,
    /// The statement so far.
    pub text: String,
    /// The open levels of queries, outermost first.
    pub frames: Vec<Frame>,
    /// Tables the statement writes, by number.
    pub targets: Vec<usize>,
    /// The column list of an INSERT, by number.
    pub insert_columns: Vec<usize>,
    /// The row keys of the rows that an INSERT has so far.
    pub insert_keys: Vec<i64>,
    /// How that list names the row key.
    pub key_listing: KeyListing,
    /// Columns that may not be read now: other columns that the same SET assigns.
    pub forbidden: Vec<ColumnRef>,
    /// The version key of the statement, once it has one.
    pub version: Option<i64>,
    /// The labels of the productions drawn so far.
    pub used: Vec<Arc<str>>,
    aliases: u32,
    calls: u32,
}

impl<'g, 'a, 'e> Expander<'g, 'a, 'e> {
    pub(super) fn new(
        grammar: &'g Grammar,
        dialect: &'g Dialect,
        tables: &'g [TablePlan],
        version_keys: bool,
        entropy: &'a mut Entropy<'e>,
        stock: &'a mut Stock,
        savepoints: &'a mut Vec<String>,
    ) -> Self {
        Self {
            grammar,
            dialect,
            tables,
            entropy,
            stock,
            version_keys,
            savepoints,
            text: String::new(),
            frames: vec![Frame::default()],
            targets: Vec::new(),
            insert_columns: Vec::new(),
            insert_keys: Vec::new(),
            key_listing: KeyListing::Listed,
            forbidden: Vec::new(),
            version: None,
            used: Vec::new(),
            aliases: 0,
            calls: 0,
        }
    }

    /// Writes a statement from a rule; None when no production of it can be finished.
    pub(super) fn statement(mut self, rule: &str) -> Option<(String, Vec<Arc<str>>)> {
        let rule = self.grammar.rule(rule)?;
        self.rule(rule, 0)?;
        // A rejection that was meant is no witness against the other productions.
        if self.used.iter().any(|label| is_meant_to_fail(label)) {
            self.used.retain(|label| is_meant_to_fail(label));
        }
        self.used.sort();
        self.used.dedup();
        Some((self.text.trim_end().to_owned(), self.used))
    }

    /// Writes a rule: draws productions until one can be finished.
    pub(super) fn rule(&mut self, rule: usize, depth: u32) -> Option<()> {
        self.calls += 1;
        if self.calls > CALLS {
            return None;
        }
        let grammar = self.grammar;
        let productions = grammar.productions(rule);
        let mut weights: Vec<u32> = productions
            .iter()
            .map(|production| {
                if production.fits(self.dialect) && self.has_all(&production.classes) {
                    production.weight
                } else {
                    0
                }
            })
            .collect();
        if depth > DEPTH {
            let open = productions
                .iter()
                .zip(&weights)
                .filter(|(_, weight)| **weight > 0);
            let lowest = open.map(|(production, _)| production.height).min()?;
            for (weight, production) in weights.iter_mut().zip(productions) {
                if production.height > lowest {
                    *weight = 0;
                }
            }
        }
        while let Some(index) = self.entropy.weighted(&weights) {
            let mark = self.mark();
            if self.items(&productions[index].items, depth).is_some() {
                self.used.push(Arc::clone(&productions[index].label));
                return Some(());
            }
            self.take_back(&mark);
            weights[index] = 0;
        }
        None
    }

    fn items(&mut self, items: &'g [ProductionItem], depth: u32) -> Option<()> {
        let mut locals = Locals::new();
        for item in items {
            match item {
                ProductionItem::Text(text) => self.write(text),
                ProductionItem::Rule(rule) => self.rule(*rule, depth + 1)?,
                ProductionItem::Builtin(builtin) => self.builtin(builtin, &mut locals, depth)?,
            }
        }
        Some(())
    }

    /// Appends text; blanks are not doubled and do not stand after an opening parenthesis or
    /// before a closing one or a comma.
    pub(super) fn write(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                ' ' if self.text.is_empty() || self.text.ends_with([' ', '(']) => {}
                ')' | ',' if self.text.ends_with(' ') => {
                    self.text.pop();
                    self.text.push(c);
                }
                c => self.text.push(c),
            }
        }
    }

    fn mark(&self) -> ExpansionMark {
        ExpansionMark {
            text: self.text.len(),
            used: self.used.len(),
            frames: self.frames.len(),
            relations: self.frames.last().map_or(0, |frame| frame.relations.len()),
            targets: self.targets.len(),
            forbidden: self.forbidden.len(),
            insert_keys: self.insert_keys.len(),
            savepoints: self.savepoints.clone(),
        }
    }

    fn take_back(&mut self, mark: &ExpansionMark) {
        self.text.truncate(mark.text);
        self.used.truncate(mark.used);
        self.frames.truncate(mark.frames);
        if let Some(frame) = self.frames.last_mut() {
            frame.relations.truncate(mark.relations);
        }
        self.targets.truncate(mark.targets);
        self.forbidden.truncate(mark.forbidden);
        self.insert_keys.truncate(mark.insert_keys);
        self.savepoints.clone_from(&mark.savepoints);
    }

    fn builtin(&mut self, builtin: &'g Builtin, locals: &mut Locals<'g>, depth: u32) -> Option<()> {
        match builtin {
            Builtin::Open { closed } => self.frames.push(Frame {
                closed: *closed,
                relations: Vec::new(),
            }),
            Builtin::Close => drop(self.frames.pop()),
            Builtin::Bind(name, wanted) => self.bind(name, wanted, locals)?,
            Builtin::Derive(name) => self.derive(name, locals)?,
            Builtin::Base(name, derived) => {
                let table = relation(locals, derived)?.table;
                let bound = self.relate(table, Shown::All, false)?;
                locals.insert(name, Bound::Relation(bound));
            }
            Builtin::Pick(name, of, picked) => {
                let column = self.picked(relation(locals, of)?, picked, locals)?;
                locals.insert(name, Bound::Column(column));
            }
            Builtin::Assignments {
                of,
                rows,
                qualified,
            } => {
                let of = relation(locals, of)?.clone();
                self.assignments(&of, *rows, *qualified, depth)?;
            }
            Builtin::CollidingAssignments(of) => {
                let of = relation(locals, of)?.clone();
                self.colliding_assignments(&of)?;
            }
            Builtin::BreakingAssignments(of) => {
                let of = relation(locals, of)?.clone();
                self.breaking_assignments(&of)?;
            }
            Builtin::InsertColumns(of) => self.insert_columns(relation(locals, of)?.table),
            Builtin::CountedColumns(of) => self.counted_columns(relation(locals, of)?.table),
            Builtin::InsertValues(of, new_row) => {
                self.insert_values(relation(locals, of)?.table, *new_row, depth)?;
            }
            Builtin::InsertQuery(of, source) => {
                let of = relation(locals, of)?.table;
                let source = relation(locals, source)?.clone();
                self.insert_query(of, &source, depth)?;
            }
            Builtin::Table(_)
            | Builtin::Name(_)
            | Builtin::Alias(_)
            | Builtin::Key(_)
            | Builtin::Version(_)
            | Builtin::Hint(_)
            | Builtin::Col(_)
            | Builtin::Like(_)
            | Builtin::DerivedColumns(..)
            | Builtin::AnyColumn
            | Builtin::ExactColumn
            | Builtin::AnyKey
            | Builtin::Column(_)
            | Builtin::Literal(_)
            | Builtin::HotKey(_)
            | Builtin::FreshKey(_)
            | Builtin::Small
            | Builtin::TotalOrder
            | Builtin::Lock(_)
            | Builtin::OpenTransaction(_)
            | Builtin::Commit
            | Builtin::Rollback
            | Builtin::NewSavepoint
            | Builtin::OpenSavepoint
            | Builtin::PlanSetting => self.printed(builtin, locals)?,
        }
        Some(())
    }

    /// The built-in nonterminals that print one piece of text.
    fn printed(&mut self, builtin: &'g Builtin, locals: &Locals<'g>) -> Option<()> {
        let text = match builtin {
            Builtin::Table(of) => self.as_from(relation(locals, of)?),
            Builtin::Name(of) => self.tables[relation(locals, of)?.table].name.clone(),
            Builtin::Alias(of) => relation(locals, of)?.alias.clone(),
            Builtin::Key(of) => format!("{}.pkey", relation(locals, of)?.alias),
            Builtin::Version(of) => {
                let of = relation(locals, of)?;
                format!("{}.{}", of.alias, self.tables[of.table].version)
            }
            Builtin::Hint(of) => {
                let table = relation(locals, of)?.table;
                self.index_hint(table)?
            }
            Builtin::Col(of) => self.named(column(locals, of)?),
            Builtin::Like(of) => {
                let of = column(locals, of)?;
                let literals = &self.tables[of.table].column(of.column).literals;
                self.entropy.pick(literals)?.clone()
            }
            Builtin::DerivedColumns(derived, base) => {
                let (derived, base) = (relation(locals, derived)?, relation(locals, base)?);
                self.derived_columns(derived, base)
            }
            Builtin::AnyColumn => self.any_column(|_| true)?,
            Builtin::ExactColumn => self.any_column(TypeClass::is_exact)?,
            Builtin::AnyKey => format!("{}.pkey", self.any_relation()?.alias),
            Builtin::Column(class) => self.column_of(*class)?,
            Builtin::Literal(class) => self.stock.literal(self.entropy, *class)?,
            Builtin::HotKey(of) => {
                let table = relation(locals, of)?.table;
                self.stock.hot_key(self.entropy, table).to_string()
            }
            Builtin::FreshKey(of) => {
                let table = relation(locals, of)?.table;
                self.stock.fresh_key(table).to_string()
            }
            Builtin::Small => (1 + self.entropy.below(6)).to_string(),
            Builtin::TotalOrder => self.total_order()?,
            Builtin::Lock(name) => self.dialect.spelling.lock_clauses.get(name)?.clone(),
            Builtin::OpenTransaction(name) => self.dialect.spelling.begin.get(name)?.clone(),
            Builtin::Commit => self.dialect.spelling.commit.clone(),
            Builtin::Rollback => self.dialect.spelling.rollback.clone(),
            Builtin::NewSavepoint => self.new_savepoint(),
            Builtin::OpenSavepoint => self.open_savepoint()?,
            Builtin::PlanSetting => self.plan_setting()?,
            Builtin::Open { .. }
            | Builtin::Close
            | Builtin::Bind(..)
            | Builtin::Derive(_)
            | Builtin::Base(..)
            | Builtin::Pick(..)
            | Builtin::InsertColumns(_)
            | Builtin::CountedColumns(_)
            | Builtin::InsertValues(..)
            | Builtin::InsertQuery(..)
            | Builtin::Assignments { .. }
            | Builtin::CollidingAssignments(_)
            | Builtin::BreakingAssignments(_) => return None,
        };
        self.text.push_str(&text);
        Some(())
    }

    /// A session variable of the optimizer, with a value that is not the default one.
    fn plan_setting(&mut self) -> Option<String> {
        let setting = self.entropy.pick(&self.dialect.plan_settings)?;
        let value = self.entropy.pick(&setting.values)?;
        Some(self.dialect.set_variable(&setting.variable, value))
    }

    fn bind(&mut self, name: &'g str, wanted: &[Wanted], locals: &mut Locals<'g>) -> Option<()> {
        let wants = |what: Wanted| wanted.contains(&what);
        let fitting: Vec<usize> = (0..self.tables.len())
            .filter(|at| !wants(Wanted::Other) || !self.is_written(*at))
            .filter(|at| !wants(Wanted::Target) || !self.reaches_a_target(*at))
            .filter(|at| !wants(Wanted::Keyed) || self.tables[*at].keyed)
            .filter(|at| !wants(Wanted::Primary) || self.tables[*at].primary)
            .filter(|at| !wants(Wanted::Lonely) || self.tables[*at].lonely)
            .filter(|at| !wants(Wanted::Counted) || self.tables[*at].counted)
            .collect();
        let hot = self.stock.hot_table;
        let table = if fitting.contains(&hot) && self.entropy.percent(45) {
            hot
        } else {
            *self.entropy.pick(&fitting)?
        };
        let bound = if wants(Wanted::Target) {
            self.targets.push(table);
            let relation = ScopedRelation {
                table,
                alias: self.tables[table].name.clone(),
                shown: Shown::All,
                hidden: wants(Wanted::Hidden),
            };
            self.frames.last_mut()?.relations.push(relation.clone());
            relation
        } else {
            self.relate(table, Shown::All, wants(Wanted::Hidden))?
        };
        locals.insert(name, Bound::Relation(bound));
        Some(())
    }

    /// Whether the statement writes a table, itself or by foreign keys.
    fn is_written(&self, table: usize) -> bool {
        let mut targets = self.targets.iter();
        targets.any(|target| *target == table || self.descends(table, *target))
    }

    /// Whether a write of a table changes, by foreign keys, one that the statement writes already.
    fn reaches_a_target(&self, table: usize) -> bool {
        let mut targets = self.targets.iter();
        targets.any(|target| self.descends(*target, table))
    }

    /// Whether a table references another, or one that does.
    fn descends(&self, table: usize, from: usize) -> bool {
        let mut parents = self.tables[table]
            .columns
            .iter()
            .filter_map(|c| c.references.map(|key| key.table));
        parents.any(|parent| parent == from || self.descends(parent, from))
    }

    /// A derived table or CTE over a table: shows its keys and one or two of its columns.
    fn derive(&mut self, name: &'g str, locals: &mut Locals<'g>) -> Option<()> {
        let table = self.entropy.below(self.tables.len());
        let count = self.tables[table].columns.len();
        let mut shown = vec![self.entropy.below(count), self.entropy.below(count)];
        shown.sort_unstable();
        shown.dedup();
        self.aliases += 1;
        let relation = ScopedRelation {
            table,
            alias: format!("q{}", self.aliases),
            shown: Shown::Only(shown),
            hidden: false,
        };
        self.frames.last_mut()?.relations.push(relation.clone());
        locals.insert(name, Bound::Relation(relation));
        Some(())
    }

    /// Tells the optimizer which index to use, or not to use; None where the table has none to name.
    fn index_hint(&mut self, table: usize) -> Option<String> {
        let tables = self.tables;
        let index = &self.entropy.pick(&tables[table].indexes)?.name;
        let word = match self.entropy.below(10) {
            0..7 => "FORCE",
            7..9 => "USE",
            _ => "IGNORE",
        };
        Some(format!("{word} INDEX ({index})"))
    }

    /// Adds a table to the innermost level, under a name that no open level uses.
    fn relate(&mut self, table: usize, shown: Shown, hidden: bool) -> Option<ScopedRelation> {
        let name = &self.tables[table].name;
        let taken = self
            .frames
            .iter()
            .flat_map(|frame| &frame.relations)
            .any(|relation| relation.alias == *name);
        let alias = if taken || self.entropy.percent(25) {
            self.aliases += 1;
            format!("r{}", self.aliases)
        } else {
            name.clone()
        };
        let relation = ScopedRelation {
            table,
            alias,
            shown,
            hidden,
        };
        self.frames.last_mut()?.relations.push(relation.clone());
        Some(relation)
    }

    fn as_from(&self, relation: &ScopedRelation) -> String {
        let name = &self.tables[relation.table].name;
        if relation.alias == *name {
            name.clone()
        } else {
            format!("{name} AS {}", relation.alias)
        }
    }

    pub(super) fn named(&self, column: &ColumnRef) -> String {
        let name = &self.tables[column.table].column(column.column).name;
        format!("{}.{name}", column.alias)
    }

    fn derived_columns(&self, derived: &ScopedRelation, base: &ScopedRelation) -> String {
        let mut names = vec![
            format!("{}.pkey", base.alias),
            format!("{}.{}", base.alias, self.tables[base.table].version),
        ];
        names.extend(derived.columns(self.tables, None).iter().map(|column| {
            self.named(&ColumnRef {
                alias: base.alias.clone(),
                ..column.clone()
            })
        }));
        names.join(", ")
    }
}

/// The state to restore when a production cannot be finished.
struct ExpansionMark {
    text: usize,
    used: usize,
    frames: usize,
    relations: usize,
    targets: usize,
    forbidden: usize,
    insert_keys: usize,
    savepoints: Vec<String>,
}

fn relation<'l>(locals: &'l Locals<'_>, name: &str) -> Option<&'l ScopedRelation> {
    match locals.get(name) {
        Some(Bound::Relation(relation)) => Some(relation),
        _ => None,
    }
}

pub(super) fn column<'l>(locals: &'l Locals<'_>, name: &str) -> Option<&'l ColumnRef> {
    match locals.get(name) {
        Some(Bound::Column(column)) => Some(column),
        _ => None,
    }
}
