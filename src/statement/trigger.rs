//! Triggers of a set-up, as far as their bodies are understood: one INSERT .. VALUES, UPDATE or DELETE of another
//! table, or `SET NEW.column = ..`.

use std::collections::BTreeSet;

use super::effect::analyze;
use super::parse::Parsed;
use super::shape::shapes;
use super::token::{SqlToken, object_name, stands, tokens, without_end};
use crate::dialect::Dialect;
use crate::model::{
    Effect, Role, SetupStatement, StatementKind, TableShape, TableUse, TestCase, TriggerWrite,
};

/// When a trigger fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TriggerEvent {
    Insert,
    Update,
    Delete,
}

/// What a trigger does for each row.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TriggerBody {
    /// It writes another table.
    Writes(TriggerWrite),
    /// It gives columns of the row, in lower case, another value.
    Assigns(BTreeSet<String>),
}

/// A trigger of which it is known what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trigger {
    table: String,
    event: TriggerEvent,
    body: TriggerBody,
}

/// The words of a CREATE TRIGGER: what it is about, and where its body stands.
pub struct TriggerText<'s> {
    pub name: String,
    pub table: String,
    event: TriggerEvent,
    /// It fires before the row is written.
    pub before: bool,
    /// One statement, without the BEGIN and END around it.
    pub body: &'s str,
}

/// A CREATE TRIGGER whose body is one statement for each row, with or without BEGIN and END around it; none for
/// anything else.
pub fn trigger_text<'s>(sql: &'s str, dialect: &Dialect) -> Option<TriggerText<'s>> {
    let words = tokens(sql, dialect)?;
    let words = without_end(&words);
    if !stands(words, 0, &["CREATE", "TRIGGER"]) {
        return None;
    }
    let (name, at) = object_name(words, 2)?;
    let before = words.get(at)?.is("BEFORE");
    if !before && !words.get(at)?.is("AFTER") {
        return None;
    }
    let event = words.get(at + 1)?;
    let event = [
        ("INSERT", TriggerEvent::Insert),
        ("UPDATE", TriggerEvent::Update),
        ("DELETE", TriggerEvent::Delete),
    ]
    .into_iter()
    .find_map(|(word, is)| event.is(word).then_some(is))?;
    if !words.get(at + 2)?.is("ON") {
        return None;
    }
    let (table, at) = object_name(words, at + 3)?;
    let body = match stands(words, at, &["FOR", "EACH", "ROW"]) {
        true => words.get(at + 3..)?,
        // SQLite does without these words (SQLite manual, "CREATE TRIGGER").
        false => words
            .get(at..)
            .filter(|body| body.first().is_some_and(|word| word.is("BEGIN")))?,
    };
    let body = one_statement(body)?;
    Some(TriggerText {
        name,
        table,
        event,
        before,
        body: &sql[body.first()?.span.start..body.last()?.span.end],
    })
}

/// The words of the only statement of a body.
fn one_statement<'w, 's>(body: &'w [SqlToken<'s>]) -> Option<&'w [SqlToken<'s>]> {
    let inner = match body {
        [begin, inner @ .., mark, end]
            if begin.is("BEGIN") && mark.is_mark(';') && end.is("END") =>
        {
            inner
        }
        _ => body,
    };
    let several = inner.iter().any(|word| word.is_mark(';'));
    (!several && !inner.is_empty()).then_some(inner)
}

/// What the triggers of a set-up do.
#[derive(Clone, Debug, Default)]
pub(super) struct Triggers {
    known: Vec<Trigger>,
    /// There is one of which it is not known what it does.
    pub(super) has_unknown: bool,
}

impl Triggers {
    /// The triggers of these statements, which leave these tables behind.
    ///
    /// Not understood are bodies that read a table, two that lead to each other or on to a third table, and triggers
    /// beside foreign keys: whether an action of one fires a trigger differs from engine to engine.
    pub(super) fn of(setup: &[SetupStatement], tables: &[TableShape], dialect: &Dialect) -> Self {
        let mut triggers = Self::default();
        for statement in setup
            .iter()
            .filter(|statement| mentions_one(&statement.sql))
        {
            match trigger_text(&statement.sql, dialect).and_then(|text| trigger(&text, dialect)) {
                Some(trigger) => triggers.known.push(trigger),
                None => triggers.has_unknown |= is_about_one(&statement.sql, dialect),
            }
        }
        let is_table = |name: &str| tables.iter().any(|t| t.name.eq_ignore_ascii_case(name));
        let known = &triggers.known;
        let fires = |name: &str| known.iter().any(|t| t.table.eq_ignore_ascii_case(name));
        let leads_on = |trigger: &Trigger| match &trigger.body {
            TriggerBody::Writes(write) => fires(&write.table) || !is_table(&write.table),
            TriggerBody::Assigns(_) => false,
        };
        let strange = known.iter().any(|t| leads_on(t) || !is_table(&t.table));
        let has_keys = tables.iter().any(|table| !table.foreign_keys.is_empty());
        triggers.has_unknown |= strange || (has_keys && !known.is_empty());
        triggers
    }

    /// The effect with the tables that triggers write for the rows that the statement writes.
    pub(super) fn fired_by(&self, mut effect: Effect) -> Effect {
        // Those of another set-up, of which this one is a smaller form, may be there still.
        effect.uses.retain(|used| used.role != Role::TriggerTarget);
        effect.trigger_writes.clear();
        let mut uses: BTreeSet<TableUse> = effect.uses.iter().cloned().collect();
        let mut writes: BTreeSet<TriggerWrite> = BTreeSet::new();
        for trigger in &self.known {
            let mut own = effect.uses.iter();
            if !own.any(|used| trigger.is_fired_by(used, &effect)) {
                continue;
            }
            match &trigger.body {
                TriggerBody::Writes(write) => {
                    let table = write.table.clone();
                    let role = Role::TriggerTarget;
                    uses.insert(TableUse { table, role });
                    writes.insert(write.clone());
                }
                // The values of new rows are not among those that are assigned.
                TriggerBody::Assigns(columns) if trigger.event == TriggerEvent::Update => {
                    let unknown = columns.iter().map(|column| (column.clone(), None));
                    effect.assigned.extend(unknown);
                }
                TriggerBody::Assigns(_) => {}
            }
        }
        effect.uses = uses.into_iter().collect();
        effect.trigger_writes = writes.into_iter().collect();
        effect
    }
}

impl Trigger {
    /// Whether a statement that uses a table in this role may fire it. A REPLACE may delete rows, and an upsert
    /// update them.
    fn is_fired_by(&self, used: &TableUse, effect: &Effect) -> bool {
        let upserts = !effect.assigned.is_empty();
        let fires = match self.event {
            TriggerEvent::Insert => used.role == Role::InsertTarget,
            TriggerEvent::Update => {
                used.role == Role::UpdateTarget || (used.role == Role::InsertTarget && upserts)
            }
            TriggerEvent::Delete => {
                let replaces = effect.kind == StatementKind::Replace;
                used.role == Role::DeleteTarget || (used.role == Role::InsertTarget && replaces)
            }
        };
        fires && used.table.eq_ignore_ascii_case(&self.table)
    }
}

fn mentions_one(sql: &str) -> bool {
    sql.to_ascii_uppercase().contains("TRIGGER")
}

/// Whether a statement has the word, outside of texts.
fn is_about_one(sql: &str, dialect: &Dialect) -> bool {
    tokens(sql, dialect).is_none_or(|words| words.iter().any(|word| word.is("TRIGGER")))
}

/// What a trigger of this text does; none where that is not understood.
fn trigger(text: &TriggerText<'_>, dialect: &Dialect) -> Option<Trigger> {
    let body = match assigned(text, dialect) {
        Some(columns) => TriggerBody::Assigns(columns),
        None => TriggerBody::Writes(write(text, dialect)?),
    };
    Some(Trigger {
        table: text.table.clone(),
        event: text.event,
        body,
    })
}

/// The columns of `SET NEW.column = .., NEW.column = ..`, in lower case.
fn assigned(text: &TriggerText<'_>, dialect: &Dialect) -> Option<BTreeSet<String>> {
    let words = tokens(text.body, dialect)?;
    if !text.before || text.event == TriggerEvent::Delete || !words.first()?.is("SET") {
        return None;
    }
    let update = assignment_as_update(text.body, &text.table, dialect)?;
    let effect = analyze(&update, dialect);
    let reads_nothing = effect.uses.len() == 1 && effect.kind == StatementKind::Update;
    reads_nothing.then(|| effect.assigned.into_keys().collect())
}

/// `UPDATE table SET column = ..` for `SET NEW.column = ..`.
pub fn assignment_as_update(body: &str, table: &str, dialect: &Dialect) -> Option<String> {
    let words = tokens(body, dialect)?;
    if !words.first()?.is("SET") {
        return None;
    }
    let mut text = format!("UPDATE {} SET", dialect.quote(table));
    let mut depth = 0;
    let mut from = words.first()?.span.end;
    let mut is_start = true;
    for (at, word) in words.iter().enumerate().skip(1) {
        if is_start {
            if !word.is("NEW") || !words.get(at + 1)?.is_mark('.') {
                return None;
            }
            text.push_str(&body[from..word.span.start]);
            from = words[at + 1].span.end;
        }
        depth += i32::from(word.is_mark('(')) - i32::from(word.is_mark(')'));
        is_start = depth == 0 && word.is_mark(',');
    }
    text.push_str(&body[from..]);
    Some(text)
}

/// What a body that writes another table does.
fn write(text: &TriggerText<'_>, dialect: &Dialect) -> Option<TriggerWrite> {
    let words = tokens(text.body, dialect)?;
    // Another spelling may mean more than its effect says: an upsert, RETURNING.
    Parsed::new(text.body, &words, dialect)?;
    let plain = |word: &SqlToken<'_>| {
        let other = [
            "CONFLICT",
            "DUPLICATE",
            "IGNORE",
            "RETURNING",
            "LIMIT",
            "OR",
        ];
        !other.iter().any(|name| word.is(name))
    };
    let effect = analyze(text.body, dialect);
    let [target] = effect.uses.as_slice() else {
        return None;
    };
    let kinds = [
        StatementKind::Insert,
        StatementKind::Update,
        StatementKind::Delete,
    ];
    let known = kinds.contains(&effect.kind)
        && target.role.is_target()
        && !effect.unrepeatable
        && !target.table.eq_ignore_ascii_case(&text.table)
        && words.iter().all(plain);
    known.then(|| TriggerWrite {
        table: target.table.clone(),
        source: text.table.clone(),
        by_row_key: ends_in_row_key(&words),
        kind: effect.kind,
        assigned: effect.assigned.into_keys().collect(),
    })
}

/// Whether a condition is `pkey = NEW.pkey`, or the same of OLD, and nothing else.
fn ends_in_row_key(words: &[SqlToken<'_>]) -> bool {
    let [.., condition, key, equals, row, dot, of] = words else {
        return false;
    };
    condition.is("WHERE")
        && key.is("pkey")
        && equals.is_mark('=')
        && (row.is("NEW") || row.is("OLD"))
        && dot.is_mark('.')
        && of.is("pkey")
}

/// Whether the set-up of a case has a trigger of which it is not known what it does.
pub fn has_unknown_trigger(case: &TestCase, dialect: &Dialect) -> bool {
    has_trigger(case) && {
        let tables = shapes(&case.setup, dialect);
        Triggers::of(&case.setup, &tables, dialect).has_unknown
    }
}

/// Whether the set-up of a case may have a trigger.
pub fn has_trigger(case: &TestCase) -> bool {
    case.setup.iter().any(|setup| mentions_one(&setup.sql))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SetupKind;
    use crate::statement::Catalog;
    use crate::statement::tests::dialect;

    const TABLES: [&str; 3] = [
        "CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT, c INT)",
        "CREATE TABLE u (pkey INT PRIMARY KEY, vkey INT, c INT)",
        "CREATE TABLE log (pkey INT PRIMARY KEY, vkey INT)",
    ];

    const FILLS_LOG: &str =
        "AFTER INSERT ON t FOR EACH ROW INSERT INTO log (pkey, vkey) VALUES (NEW.pkey, NEW.vkey)";
    const CHANGES_U: &str = "AFTER UPDATE ON t FOR EACH ROW BEGIN \
         UPDATE u SET vkey = NEW.vkey, C = OLD.c WHERE pkey = OLD.pkey; END";
    const EMPTIES_U: &str = "AFTER DELETE ON t FOR EACH ROW DELETE FROM u WHERE pkey = OLD.pkey";
    const SETS_C: &str =
        "BEFORE UPDATE ON t FOR EACH ROW SET NEW.C = COALESCE(NEW.c, 1, 2), NEW.pkey = 3";

    fn setup(triggers: &[&str]) -> Vec<SetupStatement> {
        let made = triggers.iter().enumerate();
        let triggers = made.map(|(at, text)| format!("CREATE TRIGGER g{at} {text}"));
        let all = TABLES.iter().map(|sql| (*sql).to_owned()).chain(triggers);
        let kind = SetupKind::Schema;
        all.map(|sql| SetupStatement { sql, kind }).collect()
    }

    /// The effect of a statement beside these triggers.
    fn effect(triggers: &[&str], sql: &str) -> Effect {
        let dialect = dialect("mysql");
        let catalog = Catalog::of(&setup(triggers), &dialect);
        assert!(!catalog.triggers.has_unknown, "{triggers:?}");
        catalog.effect(sql, &dialect)
    }

    fn triggered(triggers: &[&str], sql: &str) -> Vec<String> {
        let effect = effect(triggers, sql);
        let targets = effect.uses.iter().filter(|u| u.role == Role::TriggerTarget);
        let targets: Vec<&str> = targets.map(|used| used.table.as_str()).collect();
        let writes = effect.trigger_writes.iter();
        let tables: Vec<&str> = writes.clone().map(|write| write.table.as_str()).collect();
        assert_eq!(targets, tables, "{sql}");
        writes
            .map(|write| format!("{} {}", write.kind, write.table))
            .collect()
    }

    #[test]
    fn a_statement_writes_what_the_triggers_of_its_rows_write() {
        let all = [FILLS_LOG, CHANGES_U, EMPTIES_U, SETS_C];
        for (sql, writes) in [
            ("INSERT INTO t VALUES (1, 1, 1)", &["insert log"][..]),
            (
                "INSERT INTO t VALUES (1, 1, 1) ON DUPLICATE KEY UPDATE c = 2",
                &["insert log", "update u"],
            ),
            (
                "REPLACE INTO t VALUES (1, 1, 1)",
                &["insert log", "delete u"],
            ),
            ("UPDATE T SET c = 1", &["update u"]),
            ("DELETE FROM t", &["delete u"]),
            ("UPDATE u SET c = 1", &[]),
            ("SELECT * FROM t FOR UPDATE", &[]),
        ] {
            assert_eq!(triggered(&all, sql), writes, "{sql}");
        }
    }

    #[test]
    fn an_assignment_before_an_update_hides_the_values_of_the_statement() {
        let update = effect(&[SETS_C], "UPDATE t SET c = 5, vkey = 7");
        let columns: Vec<_> = update.assigned.into_iter().collect();
        let expected = [("c", None), ("pkey", None), ("vkey", Some(7))];
        assert_eq!(
            columns,
            expected.map(|(name, value)| (name.to_owned(), value))
        );
        let insert = effect(&[SETS_C], "INSERT INTO t VALUES (1, 1, 1)");
        assert!(insert.assigned.is_empty());
    }

    #[test]
    fn what_a_trigger_does_to_a_table_is_told_apart_from_what_the_statement_does() {
        let update = effect(&[CHANGES_U], "UPDATE t SET c = 5, vkey = 7");
        assert!(update.assigns("u", "c") && update.assigns("u", "VKEY"));
        assert!(!update.assigns("u", "pkey") && !update.removes_from("u"));
        let [write] = update.trigger_writes.as_slice() else {
            panic!("{:?}", update.trigger_writes);
        };
        assert!(write.by_row_key && write.source == "t");
        assert!(update.counts_rows_of("t") && !update.counts_rows_of("u"));
        let delete = effect(&[EMPTIES_U], "DELETE FROM t");
        assert!(delete.removes_from("u") && delete.removes_from("t"));
        let delete = effect(
            &[EMPTIES_U],
            "DELETE FROM t WHERE pkey IN (SELECT pkey FROM u)",
        );
        assert!(delete.changes_what_it_uses());
    }

    #[test]
    fn an_effect_follows_the_triggers_that_it_is_resolved_by() {
        let dialect = dialect("mysql");
        let sql = "INSERT INTO t VALUES (1, 1, 1)";
        let with = effect(&[FILLS_LOG], sql);
        let without = Catalog::of(&setup(&[]), &dialect).resolved(sql, with, &dialect);
        assert_eq!(without.uses.len(), 1);
        assert!(without.trigger_writes.is_empty());
    }

    #[test]
    fn a_trigger_of_another_form_is_unknown() {
        let dialect = dialect("mysql");
        for text in [
            "AFTER INSERT ON t FOR EACH ROW BEGIN DELETE FROM u; DELETE FROM log; END",
            "AFTER INSERT ON t FOR EACH ROW CALL p()",
            "AFTER INSERT ON t FOR EACH ROW INSERT INTO log SELECT pkey, vkey FROM u",
            "AFTER INSERT ON t FOR EACH ROW UPDATE u SET c = (SELECT MAX(pkey) FROM log)",
            "AFTER INSERT ON t FOR EACH ROW INSERT IGNORE INTO log VALUES (NEW.pkey, 1)",
            "AFTER INSERT ON t FOR EACH ROW DELETE FROM t",
            "AFTER INSERT ON t FOR EACH ROW DELETE FROM elsewhere",
            "AFTER INSERT ON t FOR EACH ROW SET @a = 1",
            "BEFORE INSERT ON t FOR EACH ROW SET NEW.c = (SELECT MAX(pkey) FROM u)",
            "AFTER UPDATE OF c ON t FOR EACH ROW DELETE FROM u",
            "AFTER INSERT ON t FOR EACH ROW FOLLOWS g DELETE FROM u",
        ] {
            let catalog = Catalog::of(&setup(&[text]), &dialect);
            assert!(catalog.triggers.has_unknown, "{text}");
        }
        // One that leads to another one.
        let chain = [CHANGES_U, "AFTER UPDATE ON u FOR EACH ROW DELETE FROM log"];
        assert!(Catalog::of(&setup(&chain), &dialect).triggers.has_unknown);
        let texts = ["CREATE TABLE x (c INT DEFAULT 'TRIGGER')"];
        let mut harmless = setup(&[]);
        harmless.extend(texts.map(|sql| SetupStatement {
            sql: sql.to_owned(),
            kind: SetupKind::Schema,
        }));
        assert!(!Catalog::of(&harmless, &dialect).triggers.has_unknown);
    }
}
