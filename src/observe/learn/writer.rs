//! Which statement made a change.

use std::collections::BTreeSet;

use super::{Learning, cell};
use crate::model::{
    CaseStatement, Role, Row, StatementId, StatementKind, TableShape, Tick, Value, nearest_held,
};
use crate::statement::{key_lookups, value_keys};

impl Learning<'_> {
    /// Whose change this is: the one statement, active or waiting, that can have made it; not `except`.
    ///
    /// Who waits goes on when locks are released, and rarely without a release: the purge of a deleted
    /// row wakes who waits for it. So of a row that holds something else now and names no writer, a
    /// statement that no release can have moved is asked last, when nobody else can have made the row;
    /// of one that is gone, answered counts tell.
    pub(super) fn writer(
        &self,
        shape: &TableShape,
        old: Option<&Row>,
        new: Option<&Row>,
        active: &[StatementId],
        at: Tick,
        except: Option<StatementId>,
    ) -> Result<StatementId, Unattributed> {
        let everyone = active.iter().chain(&self.waiting).copied();
        let all: BTreeSet<StatementId> = everyone.filter(|id| Some(*id) != except).collect();
        let told_apart = shape.version_key.is_some() || new.is_none();
        if !told_apart {
            let stuck = |id: &StatementId| {
                self.waiting.contains(id) && !self.newly_waiting.contains(id) && !self.released
            };
            let moved = all.iter().copied().filter(|id| !stuck(id)).collect();
            let found = self.writer_among(moved, shape, (old, new), at, except);
            let makes = |id: &StatementId| {
                let statement = self.case.statement(*id).zip(new);
                statement.is_some_and(|(s, new)| writes(s, shape) && self.makes(shape, s, old, new))
            };
            match &found {
                Err(Unattributed::Nobody) => {}
                Ok(writer) if !makes(writer) && all.iter().any(makes) => {
                    let makers = all.into_iter().filter(makes).collect();
                    return self.writer_among(makers, shape, (old, new), at, except);
                }
                Ok(_) | Err(Unattributed::Several(_)) => return found,
            }
        }
        self.writer_among(all, shape, (old, new), at, except)
    }

    /// The one of these statements that can have made a change: the row before and the row now.
    fn writer_among(
        &self,
        ids: BTreeSet<StatementId>,
        shape: &TableShape,
        (old, new): (Option<&Row>, Option<&Row>),
        at: Tick,
        except: Option<StatementId>,
    ) -> Result<StatementId, Unattributed> {
        let writers = ids.into_iter().filter_map(|id| self.case.statement(id));
        let writers: Vec<&CaseStatement> = writers.filter(|s| writes(s, shape)).collect();
        let is_moved = writers.iter().any(|s| gives_key(shape, s));
        let mut candidates: Vec<&CaseStatement> = writers
            .into_iter()
            .filter(|s| self.timeline.undone(s.id).is_none_or(|undone| undone > at))
            .collect();
        let key_of = |row: Option<&Row>| cell(shape, shape.version_key.as_deref(), row?);
        match (key_of(old), key_of(new)) {
            (old_key, Some(key)) if old_key.as_ref() != Some(&key) => {
                let owner = self
                    .version_key_owner
                    .get(&(shape.name.clone(), key.clone()));
                let number = key.to_string();
                let names = |s: &&CaseStatement| names_number(&s.sql, &number);
                let may_give =
                    |s: &&CaseStatement| names(s) || computes_version(shape, s, old.is_none());
                if let Some(owner) = owner {
                    let is_active = candidates.iter().any(|s| s.id == *owner);
                    candidates.retain(|s| {
                        if is_active {
                            s.id == *owner
                        } else {
                            may_give(s)
                        }
                    });
                } else if !candidates.iter().any(names) && candidates.iter().any(may_give) {
                    candidates.retain(may_give);
                } else {
                    if candidates.len() > 1 || candidates.iter().any(names) {
                        candidates.retain(names);
                    } else if let Some(writer) = self.uncovered_writer(shape, &number, at) {
                        candidates = vec![writer];
                    }
                }
            }
            _ => match new {
                None => self.keep_removers(shape, old, &mut candidates, except),
                Some(new) => {
                    candidates.retain(|s| !only_removes(shape, s));
                    self.keep_makers(shape, (old, new), &mut candidates, at);
                }
            },
        }
        if let Some(old) = old.filter(|_| !is_moved && candidates.len() > 1) {
            self.keep_finders(shape, old, &mut candidates);
        }
        match candidates.as_slice() {
            [one] => Ok(one.id),
            [] => Err(Unattributed::Nobody),
            several => Err(Unattributed::Several(
                several.iter().map(|s| s.id).collect(),
            )),
        }
    }
}

impl<'a> Learning<'a> {
    /// Keeps the statements that can have made a new row, or changed one into what it holds now, by the
    /// columns that they assign; all of them, where two have ended since the look before: what the second
    /// met is not known.
    fn keep_makers(
        &self,
        shape: &TableShape,
        (old, new): (Option<&Row>, &Row),
        candidates: &mut Vec<&'a CaseStatement>,
        at: Tick,
    ) {
        let has_ended = |s: &&&CaseStatement| {
            let record = self.execution.records.get(&s.id);
            record.is_some_and(|record| record.answered <= at)
        };
        if candidates.len() < 2 || candidates.iter().filter(has_ended).count() > 1 {
            return;
        }
        let makers = candidates.iter().copied();
        let makers: Vec<&CaseStatement> =
            makers.filter(|s| self.makes(shape, s, old, new)).collect();
        if !makers.is_empty() {
            *candidates = makers;
        }
    }

    /// Leaves out the statements that look for other row keys than that of a row, unless all do.
    fn keep_finders(&self, shape: &TableShape, old: &Row, candidates: &mut Vec<&'a CaseStatement>) {
        let (Some(column), Some(Value::Integer(key))) =
            (&shape.row_key, cell(shape, shape.row_key.as_deref(), old))
        else {
            return;
        };
        let looks_elsewhere = |s: &&CaseStatement| {
            let lookups = key_lookups(&s.sql, self.dialect);
            let mut lookups = lookups
                .iter()
                .filter(|l| l.column.eq_ignore_ascii_case(column));
            let names_it = s.effect.targets().count() == 1;
            names_it && lookups.any(|lookup| !lookup.values.contains(&key))
        };
        let finders = candidates.iter().copied().filter(|s| !looks_elsewhere(s));
        let finders: Vec<&CaseStatement> = finders.collect();
        if !finders.is_empty() {
            *candidates = finders;
        }
    }

    /// Keeps the statements that can have removed a row; nobody where it is merely on its way.
    ///
    /// An UPDATE that gives a row another place in the clustered index removes it first, and may wait
    /// before it inserts it again, or is rejected and puts it back: the next look after its answer
    /// tells. A row that stands again then was removed by the UPDATE, or by work that was undone since;
    /// a new row of an upsert may take the place of one that anybody removed.
    fn keep_removers(
        &self,
        shape: &TableShape,
        old: Option<&Row>,
        candidates: &mut Vec<&'a CaseStatement>,
        except: Option<StatementId>,
    ) {
        candidates.retain(|s| s.effect.removes_from(&shape.name) || gives_key(shape, s));
        self.keep_fired(shape, old, candidates);
        let waiting = self.waiting.iter().filter(|id| Some(**id) != except);
        let waiting = waiting.filter_map(|id| self.case.statement(*id));
        for mover in waiting.filter(|s| writes(s, shape) && gives_place(shape, s)) {
            let Some(again) = old.and_then(|old| self.stands_again(shape, old, mover)) else {
                continue;
            };
            candidates.retain(|s| {
                let record = self.execution.records.get(&s.id);
                let counted_none = record.is_some_and(|r| r.changed_rows() == Some(0));
                let undone = self.timeline.undone(s.id);
                let undone = undone.is_some_and(|undone| undone <= again.at);
                (undone || again.may_be_new) && !counted_none
            });
            if !candidates.is_empty() && !candidates.contains(&mover) {
                candidates.push(mover);
            }
        }
    }

    /// Of the statements that may have removed a row by a trigger keeps those that have fired it for that row. Where
    /// one of them was answered, nobody who still waits has removed the row: the trigger would have waited for that.
    fn keep_fired(
        &self,
        shape: &TableShape,
        old: Option<&Row>,
        candidates: &mut Vec<&'a CaseStatement>,
    ) {
        let Some(key) = old.and_then(|old| cell(shape, shape.row_key.as_deref(), old)) else {
            return;
        };
        candidates.retain(|s| self.has_fired(shape, s, &key) != Some(false));
        let waits = |s: &CaseStatement| self.waiting.contains(&s.id);
        let fired = |s: &&CaseStatement| self.has_fired(shape, s, &key) == Some(true) && !waits(s);
        if candidates.iter().any(fired) {
            candidates.retain(|s| !waits(s));
        }
    }

    /// Whether a statement has changed a row for which its trigger deletes the one of this key; none where it has no
    /// such trigger, or which row that is cannot be told.
    fn has_fired(
        &self,
        shape: &TableShape,
        statement: &CaseStatement,
        key: &Value,
    ) -> Option<bool> {
        let triggered = statement.effect.triggered_on(&shape.name);
        let mut deletes = triggered.filter(|write| write.kind == StatementKind::Delete);
        let write = deletes.next()?;
        let moves = self
            .case
            .table(&write.source)
            .is_none_or(|source| gives_key(source, statement));
        // An upsert has inserted the row, or updated it.
        let inserts = statement.effect.kind == StatementKind::Insert
            || statement.effect.kind == StatementKind::InsertSelect;
        let upserts = inserts && !statement.effect.assigned.is_empty();
        if !write.by_row_key || moves || upserts || deletes.next().is_some() {
            return None;
        }
        let changes = self.account.changes.get(&statement.id);
        let mut changes = changes.into_iter().flatten();
        Some(changes.any(|c| c.table.eq_ignore_ascii_case(&write.source) && c.row.key == *key))
    }

    /// When a row that is gone stands again, if it does at the first look after a waiting statement was
    /// answered: as it was, or as that statement wrote it.
    fn stands_again(
        &self,
        shape: &TableShape,
        old: &Row,
        mover: &CaseStatement,
    ) -> Option<StandsAgain> {
        let record = self.execution.records.get(&mover.id)?;
        let mut later = self.execution.observations.iter();
        let next = later.find_map(|look| {
            let rows = look.tables.get(&shape.name)?;
            (look.tick >= record.answered).then_some((look.tick, rows))
        });
        let end = || Some((Tick(u32::MAX), self.execution.final_state.get(&shape.name)?));
        let (at, rows) = next.or_else(end)?;
        let key = |row: &Row| cell(shape, shape.row_key.as_deref(), row);
        let is_its_own = |row: &Row| match cell(shape, shape.version_key.as_deref(), row) {
            Some(number) => names_number(&mover.sql, &number.to_string()),
            None => self.makes(shape, mover, Some(old), row),
        };
        let is_moved = |row: &Row| key(row) == key(old) && is_its_own(row);
        let stands = rows.contains(old);
        (stands || rows.iter().any(is_moved)).then_some(StandsAgain {
            at,
            may_be_new: !stands,
        })
    }

    pub(super) fn an_update_waits(&self, shape: &TableShape) -> bool {
        let waiting = self
            .waiting
            .iter()
            .filter_map(|id| self.case.statement(*id));
        let mut updates =
            waiting.filter(|s| s.effect.kind == StatementKind::Update || gives_place(shape, s));
        updates.any(|s| writes(s, shape))
    }

    /// Who wrote a version that another statement wrote over before anything could show it, and that
    /// stands now that the other was undone: the one statement whose text names its version key.
    fn uncovered_writer(
        &self,
        shape: &TableShape,
        number: &str,
        at: Tick,
    ) -> Option<&'a CaseStatement> {
        let wrote = |s: &&CaseStatement| {
            let record = self.execution.records.get(&s.id);
            record.is_some_and(|r| r.answered < at && r.outcome.error_class().is_none())
                && self.timeline.undone(s.id).is_none_or(|undone| undone > at)
                && writes(s, shape)
                && names_number(&s.sql, number)
        };
        let mut writers = self.case.statements.iter().filter(wrote);
        writers.next().filter(|_| writers.next().is_none())
    }

    /// Whether one statement alone can have made a new row, or changed `old` into it.
    fn makes(
        &self,
        shape: &TableShape,
        statement: &CaseStatement,
        old: Option<&Row>,
        new: &Row,
    ) -> bool {
        if statement.effect.is_triggered_on(&shape.name) {
            return makes_by_trigger(shape, statement, old, new);
        }
        if is_by_foreign_key(shape, statement) {
            return old.is_some_and(|old| changes_keys_only(shape, old, new));
        }
        let effect = &statement.effect;
        let inserts = matches!(
            effect.kind,
            StatementKind::Insert | StatementKind::InsertSelect | StatementKind::Replace
        );
        let names = || self.may_insert(shape, statement, new);
        let Some(old) = old else {
            return (inserts && names())
                || gives_place(shape, statement)
                || gives_key(shape, statement);
        };
        if effect.kind == StatementKind::Replace {
            return names();
        }
        // An upsert may have put the row in, with a number of its list; a source may have any.
        let lists = effect.kind == StatementKind::Insert;
        let is_listed = |is: &i64| names_number(&statement.sql, &is.unsigned_abs().to_string());
        let may_give = |is: &i64| inserts && (!lists || is_listed(is));
        // A column of the same name may be assigned in another target.
        let alone = effect.targets().count() == 1;
        let mut columns = shape.columns.iter().enumerate();
        effect.kind != StatementKind::Delete
            && columns.all(|(at, column)| {
                let unchanged = old.get(at) == new.get(at);
                match effect.assigned.get(&column.name.to_ascii_lowercase()) {
                    Some(Some(value)) => match new.get(at) {
                        Some(Value::Integer(is)) => {
                            let held = nearest_held(&column.sql_type, *value);
                            is == value
                                || held.is_none_or(|held| held == *is)
                                || may_give(is)
                                || (unchanged && !alone)
                        }
                        Some(_) | None => true,
                    },
                    Some(None) => true,
                    None => column.generated || unchanged,
                }
            })
    }

    /// Whether an INSERT or REPLACE may put a row under the key of this one: not where its VALUES list
    /// names other keys.
    fn may_insert(&self, shape: &TableShape, statement: &CaseStatement, new: &Row) -> bool {
        let (Some(column), Some(Value::Integer(key))) =
            (&shape.row_key, cell(shape, shape.row_key.as_deref(), new))
        else {
            return true;
        };
        let counted = shape
            .column(column)
            .is_some_and(|at| shape.columns[at].counted);
        // A counter gives a key where the list has 0.
        let may_be = |keys: BTreeSet<i64>| keys.contains(&key) || (counted && keys.contains(&0));
        value_keys(&statement.sql, column, self.dialect).is_none_or(may_be)
    }
}

/// A row that was gone stands again.
struct StandsAgain {
    /// When that was seen.
    at: Tick,
    /// It may be another row with the same row key.
    may_be_new: bool,
}

/// Why a change has no one writer.
pub(super) enum Unattributed {
    Nobody,
    Several(Vec<StatementId>),
}

/// Whether a statement may write this table.
fn writes(statement: &CaseStatement, shape: &TableShape) -> bool {
    let mut targets = statement.effect.targets();
    targets.any(|target| target == shape.name)
}

/// Whether a statement removes rows of a table and leaves none there, new or changed. By a foreign key a
/// DELETE of the parent may change a child.
fn only_removes(shape: &TableShape, statement: &CaseStatement) -> bool {
    if statement.effect.is_triggered_on(&shape.name) {
        let mut writes = statement.effect.triggered_on(&shape.name);
        return writes.all(|write| write.kind == StatementKind::Delete);
    }
    statement.effect.kind == StatementKind::Delete && !is_by_foreign_key(shape, statement)
}

/// Whether the action of a foreign key leads from a statement to this table, which it does not name.
fn is_by_foreign_key(shape: &TableShape, statement: &CaseStatement) -> bool {
    let mut uses = statement.effect.uses.iter();
    uses.any(|used| {
        used.role == Role::ForeignKeyTarget && used.table.eq_ignore_ascii_case(&shape.name)
    })
}

/// Whether the trigger of a statement can have made a new row, or changed `old` into it.
fn makes_by_trigger(
    shape: &TableShape,
    statement: &CaseStatement,
    old: Option<&Row>,
    new: &Row,
) -> bool {
    let mut writes = statement.effect.triggered_on(&shape.name);
    writes.any(|write| match (write.kind, old) {
        (StatementKind::Insert, old) => old.is_none(),
        (StatementKind::Update, Some(old)) => {
            let mut columns = shape.columns.iter().enumerate();
            columns.all(|(at, column)| {
                old.get(at) == new.get(at)
                    || column.generated
                    || write.assigned.contains(&column.name.to_ascii_lowercase())
            })
        }
        _ => false,
    })
}

/// Whether a row holds what it held before, but for columns of its foreign keys and computed ones.
fn changes_keys_only(shape: &TableShape, old: &Row, new: &Row) -> bool {
    let is_key = |name: &str| {
        let mut keys = shape.foreign_keys.iter().flat_map(|key| &key.columns);
        keys.any(|column| column.eq_ignore_ascii_case(name))
    };
    let mut columns = shape.columns.iter().enumerate();
    columns
        .all(|(at, column)| old.get(at) == new.get(at) || column.generated || is_key(&column.name))
}

/// Whether a statement may give a row another place in the clustered index.
pub(super) fn gives_place(shape: &TableShape, statement: &CaseStatement) -> bool {
    let mut columns = shape.clustered_key().unwrap_or_default().iter();
    columns.any(|column| statement.effect.assigns(&shape.name, column))
}

/// Whether a statement may give a row another row key.
pub(super) fn gives_key(shape: &TableShape, statement: &CaseStatement) -> bool {
    let row_key = shape.row_key.as_ref();
    row_key.is_some_and(|column| statement.effect.assigns(&shape.name, column))
}

/// Whether a write gives a row a version of which its text does not say the number: by an expression, or, a new row, by
/// what it found in another.
fn computes_version(shape: &TableShape, statement: &CaseStatement, is_new: bool) -> bool {
    let Some(key) = &shape.version_key else {
        return false;
    };
    let effect = &statement.effect;
    let assigned = effect.assigned.get(&key.to_ascii_lowercase());
    let mut uses = effect.uses.iter();
    let selects = uses.any(|used| used.role == Role::InsertSelectSource)
        && (is_new || effect.kind == StatementKind::Replace);
    assigned == Some(&None) || selects
}

/// Whether this number, or name, stands in the text as a word of its own.
fn names_number(sql: &str, number: &str) -> bool {
    sql.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .any(|word| word == number)
}
