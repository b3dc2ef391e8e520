//! What a set-up leaves behind, and what it makes of the statements after it.
//!
//! A statement that names a view uses the tables behind it; one that writes a table of a foreign key
//! reads, and may change, the table at its other end; one that fires a trigger writes what that writes. None
//! of it can be seen in the statement's own text.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::ast::{Expr, SelectItem, Statement};

use super::contradiction::{Regions, contradictions, passed_on};
use super::effect::analyze;
use super::key_reach::KeyReach;
use super::parse::Parsed;
use super::row_order::table_passed_on;
use super::shape::{element_ranges, shapes};
use super::token::{SqlToken, closing, object_name, stands, tokens, without_end};
use super::trigger::Triggers;
use crate::dialect::Dialect;
use crate::model::{Effect, Role, RowOrder, SetupStatement, StatementKind, TableShape, TableUse};

/// The tables and the views of a set-up.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// The tables, in the order of their creation.
    pub tables: Vec<TableShape>,
    /// The names of the views, in the order of their creation.
    pub view_names: Vec<String>,
    /// The views by their names, in lower case.
    views: BTreeMap<String, NamedQuery>,
    pub(super) triggers: Triggers,
    /// The tables that say what becomes of a row which breaks a constraint (SQLite manual, "The ON CONFLICT Clause").
    with_conflict_clause: BTreeSet<String>,
}

/// The query of a view.
#[derive(Clone, Debug)]
struct NamedQuery {
    /// As a SELECT of its own; other views are resolved.
    effect: Effect,
    /// The tables of its outermost FROM: those which a write or a lock through the view means.
    from: BTreeSet<String>,
    /// Its columns, where they are columns of its tables by their own names.
    columns: Option<ViewColumns>,
    /// Its rows are put into a table of their own before they are read: a lock on them locks no row behind them (MySQL
    /// manual, "View Processing Algorithms").
    materialized: bool,
    /// Its rows have the row keys of one table under their own name, each once at most.
    passes_row_key: bool,
    /// What its conditions leave those columns.
    left: Regions,
}

impl Catalog {
    /// What these statements leave behind.
    pub fn of(setup: &[SetupStatement], dialect: &Dialect) -> Self {
        let tables = shapes(setup, dialect);
        let mut catalog = Self {
            triggers: Triggers::of(setup, &tables, dialect),
            tables,
            view_names: Vec::new(),
            views: BTreeMap::new(),
            with_conflict_clause: BTreeSet::new(),
        };
        for statement in setup {
            let Some(words) = tokens(&statement.sql, dialect) else {
                continue;
            };
            let words = without_end(&words);
            let has_clause = (0..words.len()).any(|at| stands(words, at, &["ON", "CONFLICT"]));
            if has_clause && let Some((table, _)) = element_ranges(words) {
                catalog.with_conflict_clause.insert(table);
            }
            if let Some((name, query)) = view(words, &statement.sql) {
                let view = catalog.named_query(&query, dialect);
                let replaced = catalog.views.insert(name.to_ascii_lowercase(), view);
                if replaced.is_none() {
                    catalog.view_names.push(name);
                }
            }
        }
        catalog
    }

    /// The views that show columns of one table by their own names, and that table.
    pub fn views_of_one_table(&self) -> impl Iterator<Item = (&str, &str)> {
        self.views.iter().filter_map(|(name, view)| {
            let mut from = view.from.iter();
            let table = from.next().filter(|_| view.columns.is_some())?;
            from.next()
                .is_none()
                .then_some((name.as_str(), table.as_str()))
        })
    }

    /// The effect of a statement in a database of these tables and views.
    pub fn effect(&self, sql: &str, dialect: &Dialect) -> Effect {
        self.resolved(sql, analyze(sql, dialect), dialect)
    }

    /// The same from what [`analyze`] made of the text, or from what another set-up made of that.
    pub fn resolved(&self, sql: &str, effect: Effect, dialect: &Dialect) -> Effect {
        let effect = self.as_created(effect);
        let effect = self.behind_views(effect);
        let effect = self.merged_with_views(sql, effect, dialect);
        let effect = self.beyond_keys(effect);
        if self.resolves_conflicts(&effect) {
            return Effect {
                unrepeatable: effect.unrepeatable,
                ..Effect::of_kind(StatementKind::Opaque)
            };
        }
        self.triggers.fired_by(effect)
    }

    /// Whether a statement adds or changes rows of a table that may delete others for them, of which its answer counts none.
    fn resolves_conflicts(&self, effect: &Effect) -> bool {
        let mut targets = effect.targets();
        effect.kind != StatementKind::Delete
            && targets.any(|table| self.with_conflict_clause.contains(table))
    }

    fn named_query(&self, query: &ViewQuery<'_>, dialect: &Dialect) -> NamedQuery {
        let sql = query.sql;
        let effect = analyze(sql, dialect);
        // A lock clause tells the tables of the outermost FROM from the others.
        let locking = analyze(&format!("{sql} FOR UPDATE"), dialect);
        let locked = |used: &&TableUse| used.role == Role::LockingSelect;
        let named = || locking.uses.iter().filter(locked);
        let through = || named().filter_map(|used| self.view(&used.table));
        let tables = named().filter(|used| self.view(&used.table).is_none());
        let columns = plain_columns(sql, dialect).filter(|_| !query.renames);
        let columns = columns.and_then(|shown| match (shown, through().next()) {
            (ViewColumns::All, Some(inner)) => inner.columns.clone(),
            (shown, _) => Some(shown),
        });
        let words = tokens(sql, dialect).unwrap_or_default();
        let parsed = Parsed::new(sql, without_end(&words), dialect);
        let tree = parsed.as_ref().map(|parsed| &parsed.tree);
        let left = tree.map(|tree| passed_on(tree, &|name| self.left_by(name)));
        let of = tree.and_then(table_passed_on).filter(|_| !query.renames);
        NamedQuery {
            passes_row_key: of.is_some_and(|of| self.view(of).is_none_or(|v| v.passes_row_key)),
            left: left.unwrap_or_default(),
            from: through()
                .flat_map(|view| view.from.iter().cloned())
                .chain(tables.map(|used| used.table.clone()))
                .collect(),
            columns,
            materialized: query.is_temporary || is_materialized(&words),
            effect: self.behind_views(effect),
        }
    }

    fn view(&self, name: &str) -> Option<&NamedQuery> {
        self.views.get(&name.to_ascii_lowercase())
    }

    /// The tables of which a view shows rows; a table itself.
    fn tables_behind(&self, name: &str) -> Vec<String> {
        match self.view(name) {
            Some(view) => view
                .effect
                .uses
                .iter()
                .map(|used| used.table.clone())
                .collect(),
            None => vec![name.to_owned()],
        }
    }

    /// Whether a view lacks a column of one of its tables.
    fn is_narrow(&self, view: &NamedQuery) -> bool {
        let Some(ViewColumns::Named(names)) = &view.columns else {
            return false;
        };
        let is_of_it = |table: &&TableShape| view.from.contains(&table.name);
        let mut columns = self.tables.iter().filter(is_of_it).flat_map(|t| &t.columns);
        columns.any(|column| !names.contains(&column.name.to_ascii_lowercase()))
    }

    fn left_by(&self, view: &str) -> Option<Regions> {
        self.view(view).map(|view| view.left.clone())
    }

    /// The effect with every table under the name that its CREATE TABLE gives it: a statement may write other capitals.
    fn as_created(&self, mut effect: Effect) -> Effect {
        let is_created = |name: &str| self.tables.iter().any(|table| table.name == name);
        let created = |name: &mut String| {
            let mut tables = self.tables.iter();
            let same = tables.find(|table| table.name.eq_ignore_ascii_case(name));
            if let Some(table) = same.filter(|_| !is_created(name)) {
                name.clone_from(&table.name);
            }
        };
        let mut uses: BTreeSet<TableUse> = BTreeSet::new();
        for mut used in effect.uses.drain(..) {
            created(&mut used.table);
            uses.insert(used);
        }
        effect.uses = uses.into_iter().collect();
        let locked = effect.table_lock.iter_mut();
        locked.flat_map(|lock| &mut lock.tables).for_each(created);
        effect
    }

    /// The effect with the tables behind every view that it names.
    fn behind_views(&self, mut effect: Effect) -> Effect {
        // LOCK TABLE of a view locks the tables behind it (PostgreSQL manual, "LOCK").
        if let Some(lock) = &mut effect.table_lock {
            let named = std::mem::take(&mut lock.tables);
            lock.tables = named
                .iter()
                .flat_map(|name| self.tables_behind(name))
                .collect();
        }
        let through = |used: &&TableUse| self.view(&used.table).is_some();
        if self.views.is_empty() || !effect.uses.iter().any(|used| through(&used)) {
            return effect;
        }
        let mut uses = BTreeSet::new();
        // Another view may call anything `pkey`, and a lock sorts rows as they were before it was there.
        let mut passes_row_key = effect.kind == StatementKind::Select && effect.uses.len() == 1;
        for used in std::mem::take(&mut effect.uses) {
            let Some(view) = self.view(&used.table) else {
                uses.insert(used);
                continue;
            };
            let unknown = view.effect.kind != StatementKind::Select
                || used.role.is_target() && view.columns.is_none()
                || used.role == Role::LockingSelect && view.materialized;
            if unknown {
                return Effect::of_kind(StatementKind::Opaque);
            }
            effect.narrowed_target |= used.role.is_target() && self.is_narrow(view);
            uses.extend(view.effect.uses.iter().map(|inner| {
                let outermost = view.from.contains(&inner.table);
                TableUse {
                    table: inner.table.clone(),
                    role: if outermost {
                        used.role
                    } else {
                        source(used.role)
                    },
                }
            }));
            effect.surely_takes_snapshot &= view.effect.surely_takes_snapshot;
            effect.row_by_row &= view.effect.row_by_row;
            passes_row_key &= view.passes_row_key;
            effect.outer_join |= view.effect.outer_join;
            effect.unrepeatable |= view.effect.unrepeatable;
            effect.forms.extend(view.effect.forms.iter().copied());
        }
        effect.uses = uses.into_iter().collect();
        if !passes_row_key {
            effect.row_order = RowOrder::Unordered;
        }
        effect
    }

    /// The effect with the columns that its conditions and those of the views that it names leave no value.
    fn merged_with_views(&self, sql: &str, mut effect: Effect, dialect: &Dialect) -> Effect {
        let lower = sql.to_ascii_lowercase();
        if effect.kind == StatementKind::Opaque
            || !self.views.keys().any(|name| lower.contains(name.as_str()))
        {
            return effect;
        }
        if let Some(parsed) = Parsed::of(sql, dialect) {
            let found = contradictions(&parsed.tree, &|name| self.left_by(name));
            effect.impossible_ranges = found.impossible;
            effect.null_only = found.null_only;
        }
        effect
    }

    /// The effect with the tables that foreign keys tie to those which the statement writes.
    fn beyond_keys(&self, mut effect: Effect) -> Effect {
        // Those of another set-up, of which this one is a smaller form, may be there still.
        effect.uses.retain(|used| !used.role.is_by_foreign_key());
        if self
            .tables
            .iter()
            .all(|table| table.foreign_keys.is_empty())
        {
            return effect;
        }
        let KeyReach {
            found, assigned, ..
        } = KeyReach::of(&effect, &self.tables);
        for column in assigned {
            effect.assigned.insert(column, None);
        }
        let uses: BTreeSet<TableUse> = effect.uses.drain(..).chain(found).collect();
        effect.uses = uses.into_iter().collect();
        effect
    }
}

/// The role of a table that a view reads beside those of its FROM, where the view stands in this one.
fn source(role: Role) -> Role {
    match role {
        Role::LockingSelect => Role::LockingSelectSource,
        Role::UpdateTarget => Role::UpdateSource,
        Role::DeleteTarget => Role::DeleteSource,
        Role::InsertTarget => Role::InsertValuesSource,
        Role::PlainSelect
        | Role::LockingSelectSource
        | Role::UpdateSource
        | Role::UpdateJoinSource
        | Role::DeleteSource
        | Role::InsertSelectSource
        | Role::InsertValuesSource
        | Role::ForeignKeyCheck
        | Role::ForeignKeyChild
        | Role::ForeignKeyTarget
        | Role::TriggerTarget => role,
    }
}

/// The query of a `CREATE VIEW`, as it stands there.
struct ViewQuery<'s> {
    sql: &'s str,
    /// A list after the view's name gives its columns names of their own.
    renames: bool,
    /// `ALGORITHM = TEMPTABLE`.
    is_temporary: bool,
}

/// The name and the query of a `CREATE VIEW`; none for any other statement.
fn view<'s>(words: &[SqlToken<'_>], sql: &'s str) -> Option<(String, ViewQuery<'s>)> {
    words.first().filter(|word| word.is("CREATE"))?;
    let is_other = |word: &SqlToken<'_>| {
        word.is_mark('(') || word.is_any(&["TABLE", "INDEX", "TRIGGER", "AS"])
    };
    let at = words
        .iter()
        .take_while(|word| !is_other(word))
        .position(|word| word.is("VIEW"))?
        + 1;
    let exists = stands(words, at, &["IF", "NOT", "EXISTS"]);
    let (name, mut at) = object_name(words, if exists { at + 3 } else { at })?;
    let renames = words.get(at)?.is_mark('(');
    if renames {
        at = closing(words, at)? + 1;
    }
    let start = words.get(at).filter(|word| word.is("AS"))?.span.end;
    let is_check = |at: &usize| {
        let option = ["CHECK", "LOCAL", "CASCADED"];
        words[*at].is("WITH") && option.iter().any(|word| stands(words, *at + 1, &[word]))
    };
    let end = match (at..words.len()).find(is_check) {
        Some(at) => words[at].span.start,
        None => words.last()?.span.end,
    };
    let is_temporary = words[..at].iter().any(|word| word.is("TEMPTABLE"));
    let query = ViewQuery {
        sql: sql[start..end].trim(),
        renames,
        is_temporary,
    };
    Some((name, query))
}

/// Whether a row of a query stands for several of its tables, or for a choice of them.
fn is_materialized(words: &[SqlToken<'_>]) -> bool {
    let clauses = [
        "DISTINCT",
        "EXCEPT",
        "GROUP",
        "HAVING",
        "INTERSECT",
        "LIMIT",
        "OVER",
        "UNION",
    ];
    let aggregates = ["AVG", "COUNT", "GROUP_CONCAT", "MAX", "MIN", "SUM"];
    words.iter().enumerate().any(|(at, word)| {
        let is_called = words.get(at + 1).is_some_and(|next| next.is_mark('('));
        word.is_any(&clauses) || is_called && word.is_any(&aggregates)
    })
}

/// The columns that a view passes on.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ViewColumns {
    /// All of a table at least.
    All,
    /// Those of these names, in lower case.
    Named(BTreeSet<String>),
}

/// The columns of a SELECT; none where one of them is not a column of a table, by its own name.
fn plain_columns(sql: &str, dialect: &Dialect) -> Option<ViewColumns> {
    let parsed = Parsed::of(sql, dialect)?;
    let Statement::Query(query) = &parsed.tree else {
        return None;
    };
    let mut names = BTreeSet::new();
    let mut all = false;
    for item in &query.body.as_select()?.projection {
        match item {
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
                names.insert(name.value.to_ascii_lowercase());
            }
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
                names.insert(parts.last()?.value.to_ascii_lowercase());
            }
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => all = true,
            SelectItem::UnnamedExpr(_)
            | SelectItem::ExprWithAlias { .. }
            | SelectItem::ExprWithAliases { .. } => return None,
        }
    }
    Some(match all {
        true => ViewColumns::All,
        false => ViewColumns::Named(names),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::setup_kind;
    use crate::statement::tests::dialect;

    fn catalog(setup: &[&str]) -> Catalog {
        let dialect = dialect("mysql");
        let statements = setup.iter().map(|sql| SetupStatement {
            sql: (*sql).to_owned(),
            kind: setup_kind(sql, &dialect),
        });
        Catalog::of(&statements.collect::<Vec<_>>(), &dialect)
    }

    /// The tables that a statement uses, each with its role.
    fn uses(catalog: &Catalog, sql: &str) -> Vec<String> {
        let effect = catalog.effect(sql, &dialect("mysql"));
        let uses = effect.uses.iter();
        uses.map(|u| format!("{} {}", u.table, u.role)).collect()
    }

    const VIEWS: [&str; 6] = [
        "CREATE TABLE t (pkey INT PRIMARY KEY, c INT)",
        "CREATE TABLE u (pkey INT PRIMARY KEY, c INT)",
        "CREATE OR REPLACE ALGORITHM = MERGE DEFINER = `a`@`b` SQL SECURITY INVOKER VIEW v AS \
         SELECT pkey, c FROM t WHERE c IN (SELECT c FROM u) WITH LOCAL CHECK OPTION",
        "CREATE VIEW db.over AS SELECT * FROM V",
        "CREATE VIEW other (pkey, c) AS SELECT c, pkey FROM t",
        "CREATE VIEW called AS SELECT pkey, c AS d FROM t",
    ];

    #[test]
    fn a_view_stands_for_its_tables_in_the_role_in_which_it_stands() {
        let catalog = catalog(&VIEWS);
        for view in ["v", "over", "`V`"] {
            assert_eq!(
                uses(&catalog, &format!("SELECT * FROM {view}")),
                ["t plain-select", "u plain-select"],
                "{view}"
            );
            assert_eq!(
                uses(&catalog, &format!("UPDATE {view} SET c = 1")),
                ["t update-target", "u update-source"],
                "{view}"
            );
        }
        assert_eq!(
            uses(&catalog, "SELECT * FROM v FOR UPDATE"),
            ["t locking-select", "u locking-select-source"]
        );
        assert_eq!(
            uses(
                &catalog,
                "DELETE FROM u WHERE pkey IN (SELECT pkey FROM called)"
            ),
            ["t delete-source", "u delete-target"]
        );
    }

    #[test]
    fn what_a_view_hides_is_not_claimed_of_a_statement_that_names_it() {
        let catalog = catalog(&VIEWS);
        let effect = |sql: &str| catalog.effect(sql, &dialect("mysql"));
        let read = effect("SELECT pkey FROM v ORDER BY v.pkey");
        assert!(!read.surely_takes_snapshot && !read.row_by_row);
        assert!(effect("SELECT pkey FROM called").surely_takes_snapshot);
        // Which column of the table a name means, only the engine knows.
        for sql in ["UPDATE other SET c = 1", "UPDATE called SET d = 1"] {
            assert_eq!(effect(sql).kind, StatementKind::Opaque, "{sql}");
        }
    }

    #[test]
    fn a_write_through_a_view_may_leave_columns_out_of_reach() {
        let catalog = catalog(&[
            "CREATE TABLE t (pkey INT PRIMARY KEY, c INT)",
            "CREATE VIEW whole AS SELECT C, t.pkey FROM t",
            "CREATE VIEW star AS SELECT * FROM t",
            "CREATE VIEW narrow AS SELECT pkey FROM t",
            "CREATE VIEW over_narrow AS SELECT * FROM narrow WHERE pkey > 1",
        ]);
        for (view, expected) in [
            ("t", false),
            ("whole", false),
            ("star", false),
            ("narrow", true),
            ("over_narrow", true),
        ] {
            let write = catalog.effect(&format!("DELETE FROM {view}"), &dialect("postgres"));
            assert_eq!(write.narrowed_target, expected, "{view}");
            let read = catalog.effect(&format!("SELECT * FROM {view}"), &dialect("postgres"));
            assert!(!read.narrowed_target, "{view}");
        }
    }

    #[test]
    fn a_condition_counts_with_that_of_the_view_it_is_put_to() {
        let catalog = catalog(&[
            "CREATE TABLE t (pkey INT PRIMARY KEY, c INT)",
            "CREATE VIEW v AS SELECT pkey, c FROM t WHERE pkey > 1",
            "CREATE VIEW over_v AS SELECT * FROM v WHERE c < 5",
            "CREATE VIEW cut AS SELECT pkey, c FROM t WHERE pkey > 1 LIMIT 3",
        ]);
        for (sql, expected) in [
            ("UPDATE v SET c = 1 WHERE v.pkey = 1", "pkey"),
            ("UPDATE v SET c = 1 WHERE v.pkey = 2", ""),
            ("DELETE FROM V WHERE pkey < 0", "pkey"),
            ("SELECT * FROM v WHERE pkey < 0", "pkey"),
            // A query prunes nothing by an equality.
            ("SELECT * FROM v WHERE pkey = 0", ""),
            ("SELECT * FROM over_v WHERE pkey < 0 AND c > 7", "c pkey"),
            ("SELECT * FROM cut WHERE pkey < 0", ""),
            ("SELECT * FROM t WHERE pkey < 0", ""),
        ] {
            let effect = catalog.effect(sql, &dialect("mysql"));
            let found: Vec<String> = effect.impossible_ranges.into_iter().collect();
            assert_eq!(found.join(" "), expected, "{sql}");
        }
    }

    const FAMILY: [&str; 4] = [
        "CREATE TABLE parent (pkey INT PRIMARY KEY, c INT)",
        "CREATE TABLE child (pkey INT PRIMARY KEY, f INT, c INT, \
         CONSTRAINT k FOREIGN KEY (f) REFERENCES Parent (PKEY) ON DELETE CASCADE ON UPDATE SET NULL)",
        "CREATE TABLE grandchild (pkey INT PRIMARY KEY, f INT REFERENCES child ON DELETE SET NULL)",
        "CREATE TABLE kept (pkey INT PRIMARY KEY, f INT, FOREIGN KEY (f) REFERENCES grandchild (pkey))",
    ];

    #[test]
    fn a_foreign_key_reaches_the_parents_of_new_rows_and_the_children_of_those_that_go() {
        let catalog = catalog(&FAMILY);
        let uses = |sql: &str| {
            let own = |used: &String| used.contains("foreign-key");
            uses(&catalog, sql)
                .into_iter()
                .filter(own)
                .collect::<Vec<_>>()
        };
        for sql in [
            "INSERT INTO child VALUES (1, 1, 1)",
            "UPDATE child SET F = 1",
        ] {
            assert_eq!(uses(sql), ["parent foreign-key-check"], "{sql}");
        }
        let deleted = ["child foreign-key-target", "grandchild foreign-key-target"];
        assert_eq!(uses("DELETE FROM parent"), deleted);
        assert_eq!(uses("REPLACE INTO parent VALUES (1, 1)"), deleted);
        // Rows of `child` get another `f`, which nothing references.
        assert_eq!(
            uses("UPDATE parent SET pkey = 2"),
            ["child foreign-key-target"]
        );
        assert_eq!(
            uses("UPDATE kept SET pkey = 2"),
            ["grandchild foreign-key-check"]
        );
        assert_eq!(uses("DELETE FROM grandchild"), ["kept foreign-key-child"]);
        for sql in [
            "UPDATE child SET c = 1",
            "UPDATE parent SET c = 1",
            "SELECT * FROM child",
        ] {
            assert!(uses(sql).is_empty(), "{sql}");
        }
    }

    #[test]
    fn an_effect_follows_the_set_up_that_it_is_resolved_by() {
        let sql = "DELETE FROM parent";
        let with = catalog(&FAMILY);
        let dialect = dialect("mysql");
        let effect = with.effect(sql, &dialect);
        assert_eq!(with.resolved(sql, effect.clone(), &dialect), effect);
        assert!(effect.assigned.contains_key("f"));
        let without = catalog(&FAMILY[..1]).resolved(sql, effect, &dialect);
        assert_eq!(without.uses.len(), 1);
    }
}
