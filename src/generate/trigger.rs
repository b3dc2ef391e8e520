//! Triggers of the tables of an epoch.
//!
//! None is drawn beside foreign keys: whether an action of one fires a trigger differs from engine to engine. None leads
//! on to another trigger, and none writes the table that it stands on, which engines refuse (MySQL's error 1442). None
//! stands on a table whose row key a counter fills, since its rows have no key yet when it fires before they are written.

use super::entropy::Entropy;
use super::schema::{ColumnPlan, TablePlan};
use crate::dialect::{Capability, Dialect, TypeClass};

/// How many schemas with triggers, of a hundred, have a second one.
const SECOND_PERCENT: usize = 50;

/// What the row keys of a table are multiplied by in the table that a trigger fills, before the version key is added:
/// each version of a row has a key there.
const KEY_FACTOR: u32 = 4096;

/// A table under a trigger, by number, or one that a trigger writes.
#[derive(Default)]
struct Taken {
    sources: Vec<usize>,
    targets: Vec<usize>,
}

/// Adds tables that triggers fill, and draws the statements that make the triggers.
pub(super) fn add_triggers(
    entropy: &mut Entropy<'_>,
    percent: usize,
    tables: &mut Vec<TablePlan>,
    dialect: &Dialect,
) -> Vec<String> {
    let mut columns = tables.iter().flat_map(|table| &table.columns);
    let has_foreign_keys = columns.any(|column| column.references.is_some());
    let has_version_keys = tables.iter().all(|table| table.version == "vkey");
    let suits = dialect.supports(Capability::Trigger) && has_version_keys && !has_foreign_keys;
    if !suits || !entropy.percent(percent) {
        return Vec::new();
    }
    let count = 1 + usize::from(entropy.percent(SECOND_PERCENT));
    let mut taken = Taken::default();
    let mut made = Vec::new();
    for number in 1..=count {
        made.extend(trigger(entropy, number, tables, &mut taken, dialect));
    }
    made
}

fn trigger(
    entropy: &mut Entropy<'_>,
    number: usize,
    tables: &mut Vec<TablePlan>,
    taken: &mut Taken,
    dialect: &Dialect,
) -> Option<String> {
    let all = 0..tables.len();
    let sources: Vec<usize> = all
        .clone()
        .filter(|at| !taken.targets.contains(at) && !tables[*at].counted)
        .collect();
    let source = *entropy.pick(&sources)?;
    let targets: Vec<usize> = all
        .filter(|at| *at != source && tables[*at].keyed)
        .filter(|at| !taken.sources.contains(at) && !taken.targets.contains(at))
        .collect();
    let target = entropy.pick(&targets).copied();
    let assigns = dialect.supports(Capability::TriggerAssignment);
    let text = match (entropy.below(10), target) {
        (0..3, _) if assigns => assignment(entropy, &tables[source])?,
        (3..6, Some(target)) => {
            taken.targets.push(target);
            change(entropy, &tables[source], &tables[target])
        }
        _ => {
            let (text, filled) = addition(entropy, number, &tables[source], dialect)?;
            taken.targets.push(tables.len());
            tables.push(filled);
            text
        }
    };
    taken.sources.push(source);
    let DrawnTrigger { event, body } = text;
    let (name, body) = (&tables[source].name, dialect.trigger_body(&body));
    Some(format!(
        "CREATE TRIGGER tg{number} {event} ON {name} FOR EACH ROW {body}"
    ))
}

/// When a trigger fires, and what it does.
struct DrawnTrigger {
    event: &'static str,
    body: String,
}

/// A trigger that gives a column of the row itself another value.
fn assignment(entropy: &mut Entropy<'_>, table: &TablePlan) -> Option<DrawnTrigger> {
    let free: Vec<&ColumnPlan> = table.columns.iter().filter(|c| is_free(c)).collect();
    let column = *entropy.pick(&free)?;
    let name = &column.name;
    let event = *entropy.pick(&["BEFORE INSERT", "BEFORE UPDATE"])?;
    let literal = entropy.pick(&column.literals)?;
    let value = match entropy.below(4) {
        0 => literal.clone(),
        1 if event == "BEFORE UPDATE" => format!("OLD.{name}"),
        2 if column.class == TypeClass::Integer => format!("NEW.{name} + 1"),
        _ => format!("COALESCE(NEW.{name}, {literal})"),
    };
    Some(DrawnTrigger {
        event,
        body: format!("SET NEW.{name} = {value}"),
    })
}

/// A column that may be given any of its values.
fn is_free(column: &ColumnPlan) -> bool {
    let is_bound = column.unique || column.generated.is_some() || column.refused.is_some();
    !is_bound && column.references.is_none()
}

/// A trigger that changes or deletes the row of another table that has the same row key.
fn change(entropy: &mut Entropy<'_>, source: &TablePlan, target: &TablePlan) -> DrawnTrigger {
    let name = &target.name;
    let free: Vec<&ColumnPlan> = target.columns.iter().filter(|c| is_free(c)).collect();
    let events = ["AFTER INSERT", "AFTER UPDATE", "AFTER DELETE"];
    let event = events[entropy.below(events.len())];
    if event == "AFTER DELETE" {
        // It has no fresh version key to give.
        return DrawnTrigger {
            event,
            body: format!("DELETE FROM {name} WHERE pkey = OLD.pkey"),
        };
    }
    if entropy.percent(35) {
        return DrawnTrigger {
            event,
            body: format!("DELETE FROM {name} WHERE pkey = NEW.pkey"),
        };
    }
    let mut assigned = String::new();
    if let Some(column) = entropy.pick(&free) {
        let alike = source
            .columns
            .iter()
            .find(|c| c.sql_type == column.sql_type);
        let value = match (alike, entropy.pick(&column.literals)) {
            (Some(alike), _) => Some(format!("NEW.{}", alike.name)),
            (None, literal) => literal.cloned(),
        };
        assigned = value.map_or(assigned, |value| format!(", {} = {value}", column.name));
    }
    DrawnTrigger {
        event,
        body: format!("UPDATE {name} SET vkey = NEW.vkey{assigned} WHERE pkey = NEW.pkey"),
    }
}

/// A trigger that adds a row to a table of its own for each version of a row, and that table.
fn addition(
    entropy: &mut Entropy<'_>,
    number: usize,
    source: &TablePlan,
    dialect: &Dialect,
) -> Option<(DrawnTrigger, TablePlan)> {
    let events = ["AFTER INSERT", "AFTER UPDATE", "AFTER DELETE"];
    let event = events[entropy.below(events.len())];
    // A DELETE gives no fresh version key: nothing in the row would name it.
    let (row, version) = match event {
        "AFTER DELETE" => ("OLD", "n0"),
        _ => ("NEW", "vkey"),
    };
    let from = entropy.pick(&source.columns)?;
    let column = ColumnPlan {
        name: "c0".to_owned(),
        nullable: true,
        default: None,
        generated: None,
        unique: false,
        sole_key: false,
        refused: None,
        references: None,
        ..from.clone()
    };
    let name = format!("log{number}");
    let body = format!(
        "INSERT INTO {name} (pkey, {version}, c0) VALUES \
         ({row}.pkey * {KEY_FACTOR} + {row}.vkey, {row}.vkey, {row}.{})",
        from.name
    );
    let filled = TablePlan::with_one_column(name, version, column, dialect);
    Some((DrawnTrigger { event, body }, filled))
}
