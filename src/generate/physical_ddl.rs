//! DDL that changes how a table is stored while another session's transaction, which has not used the table yet, is
//! open and will.
//!
//! Such a transaction finds the table as another one than its snapshot knows. One that has used it keeps most DDL waiting,
//! and whoever reads the tables from outside would wait behind that: none is drawn there but what waits for nobody, a
//! VACUUM, and all of it in SQLite, which refuses DDL while another transaction writes. None is drawn for tables of
//! foreign keys, which lead from one table to another, and for tables with a counter, which a rebuilt table begins anew.

use std::collections::BTreeMap;

use super::entropy::Entropy;
use super::schema::TablePlan;
use super::session::{DrawnStatement, sessions_up_to};
use crate::dialect::{Capability, Dialect};
use crate::model::{Effect, SessionId, StatementKind, TableShape};
use crate::statement::Catalog;

/// How many of these statements, of a hundred, copy the table row by row.
const COPY_PERCENT: usize = 30;

/// How many of them, of a hundred, are a VACUUM that waits for nobody, where there is one.
const VACUUM_PERCENT: usize = 50;

/// Puts such a statement into some cases that have a place for one.
pub(super) fn add_physical_ddl(
    entropy: &mut Entropy<'_>,
    percent: usize,
    sessions: usize,
    lines: &mut Vec<DrawnStatement>,
    (tables, catalog): (&[TablePlan], &Catalog),
    dialect: &Dialect,
) {
    if !dialect.supports(Capability::PhysicalDdl) || !entropy.percent(percent) {
        return;
    }
    let effects: Vec<Effect> = lines
        .iter()
        .map(|line| catalog.resolved(&line.sql, line.effect.clone(), dialect))
        .collect();
    let suited = tables
        .iter()
        .filter(|table| !table.counted && !is_tied(&table.name, &catalog.tables));
    let all: Vec<DdlPlace<'_>> = suited
        .flat_map(|table| places(table, sessions, lines, &effects))
        .collect();
    let way = DdlWay::draw(entropy, dialect);
    let is_free = |place: &&DdlPlace<'_>| match way {
        DdlWay::Rebuilding | DdlWay::Rewriting => !place.is_used,
        DdlWay::Vacuum => true,
        DdlWay::Reindexing => !place.is_written,
    };
    let mut free: Vec<&DdlPlace<'_>> = all.iter().filter(is_free).collect();
    if matches!(way, DdlWay::Reindexing) && free.iter().any(|place| place.is_used) {
        free.retain(|place| place.is_used);
    }
    let Some(place) = entropy.pick(&free) else {
        return;
    };
    let drawn = match way {
        DdlWay::Rebuilding => rebuilding(entropy, place),
        DdlWay::Rewriting => vec![(place.at, rewriting(entropy, place.table))],
        DdlWay::Vacuum => vec![(place.at, vacuum(entropy, &place.table.name))],
        DdlWay::Reindexing => vec![(place.at, reindexing(entropy, place.table))],
    };
    for (at, sql) in drawn {
        let line = DrawnStatement::outside(place.session, sql, dialect);
        lines.insert(at, line);
    }
}

/// Which of these statements a case gets.
#[derive(Clone, Copy)]
enum DdlWay {
    /// Those of MariaDB and MySQL.
    Rebuilding,
    /// PostgreSQL's that wait for users of the table.
    Rewriting,
    Vacuum,
    /// SQLite's.
    Reindexing,
}

impl DdlWay {
    fn draw(entropy: &mut Entropy<'_>, dialect: &Dialect) -> Self {
        if dialect.supports(Capability::Vacuum) {
            match entropy.percent(VACUUM_PERCENT) {
                true => Self::Vacuum,
                false => Self::Rewriting,
            }
        } else if dialect.supports(Capability::Reindex) {
            Self::Reindexing
        } else {
            Self::Rebuilding
        }
    }
}

/// The DDL of MariaDB and MySQL, the last line first, each with the line that it comes before.
fn rebuilding(entropy: &mut Entropy<'_>, place: &DdlPlace<'_>) -> Vec<(usize, String)> {
    let name = &place.table.name;
    let create = create_index(entropy, place.table);
    let (mut sql, way) = match entropy.below(4) {
        0 | 1 => (create, " ALGORITHM=COPY"),
        2 => (format!("ALTER TABLE {name} FORCE"), ", ALGORITHM=COPY"),
        // Not every product lets DROP INDEX say how.
        _ => {
            return vec![(place.at, format!("DROP INDEX x1 ON {name}")), (0, create)];
        }
    };
    if entropy.percent(COPY_PERCENT) {
        sql.push_str(way);
    }
    vec![(place.at, sql)]
}

/// PostgreSQL's that wait for those who have used the table. An ALTER TABLE that rewrites it is not among them: the
/// table looks empty to older snapshots then (PostgreSQL manual, "Caveats" of concurrency control).
fn rewriting(entropy: &mut Entropy<'_>, table: &TablePlan) -> String {
    match entropy.below(4) {
        0 => format!("VACUUM FULL {}", table.name),
        1 => format!("REINDEX TABLE {}", table.name),
        _ => create_index(entropy, table),
    }
}

fn reindexing(entropy: &mut Entropy<'_>, table: &TablePlan) -> String {
    match entropy.below(2) {
        0 => format!("REINDEX {}", table.name),
        _ => create_index(entropy, table),
    }
}

/// A VACUUM that waits for nobody: it would, to give the end of the file back.
fn vacuum(entropy: &mut Entropy<'_>, table: &str) -> String {
    let how = match entropy.below(4) {
        0 => "",
        1 => ", FREEZE",
        // Without it the few dead entries of a small table stay in its indexes.
        _ => ", INDEX_CLEANUP ON",
    };
    format!("VACUUM (TRUNCATE FALSE{how}) {table}")
}

fn create_index(entropy: &mut Entropy<'_>, table: &TablePlan) -> String {
    let columns = columns(entropy, table);
    format!("CREATE INDEX x1 ON {} ({columns})", table.name)
}

/// Before which line a session can change the storage of a table.
struct DdlPlace<'t> {
    at: usize,
    session: SessionId,
    table: &'t TablePlan,
    /// A transaction that is open there has used the table.
    is_used: bool,
    /// One that is open there has written, or means to.
    is_written: bool,
}

/// Whether a foreign key leads from or to a table.
fn is_tied(name: &str, tables: &[TableShape]) -> bool {
    let mut keys = tables
        .iter()
        .flat_map(|table| table.foreign_keys.iter().map(move |key| (table, key)));
    keys.any(|(table, key)| table.name == name || key.parent.eq_ignore_ascii_case(name))
}

/// The places for a table: the session is in no transaction, and another is in one that has used the table or will.
fn places<'t>(
    table: &'t TablePlan,
    sessions: usize,
    lines: &[DrawnStatement],
    effects: &[Effect],
) -> Vec<DdlPlace<'t>> {
    let is_used = |effect: &Effect| effect.uses.iter().any(|used| used.table == table.name);
    let uses: Vec<bool> = effects.iter().map(is_used).collect();
    let mut found = Vec::new();
    // The sessions that are inside a transaction, and whether it has used the table and written.
    let mut inside: BTreeMap<SessionId, (bool, bool)> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        let mut open = inside.keys();
        let is_used = inside.values().any(|(used, _)| *used);
        let is_written = inside.values().any(|(_, written)| *written);
        if is_used || open.any(|session| will_use(*session, at, lines, &uses)) {
            let outside = sessions_up_to(sessions).filter(|s| !inside.contains_key(s));
            found.extend(outside.map(|session| DdlPlace {
                at,
                session,
                table,
                is_used,
                is_written,
            }));
        }
        if line.is_inside() {
            let (used, written) = inside.entry(line.session).or_default();
            *used |= uses[at];
            let kind = line.effect.kind;
            *written |= kind.is_write() || kind == StatementKind::BeginImmediate;
        } else {
            inside.remove(&line.session);
        }
    }
    found
}

/// Whether the transaction that a session is in before a line uses the table from there on.
fn will_use(session: SessionId, from: usize, lines: &[DrawnStatement], uses: &[bool]) -> bool {
    let mut own = (from..lines.len())
        .filter(|at| lines[*at].session == session)
        .take_while(|at| lines[*at].is_inside());
    own.any(|at| uses[at])
}

/// The columns of a new index: one or two of those that an index can have whole.
fn columns(entropy: &mut Entropy<'_>, table: &TablePlan) -> String {
    let stored = table.columns.iter().filter(|column| column.indexable);
    let stored = stored.map(|column| column.name.as_str());
    let all: Vec<&str> = stored.chain([table.version, "pkey"]).collect();
    let first = entropy.below(all.len());
    let second = entropy.below(all.len() * 2);
    let direction = if entropy.percent(30) { " DESC" } else { "" };
    match all.get(second).filter(|_| second != first) {
        Some(other) => format!("{}{direction}, {other}", all[first]),
        None => format!("{}{direction}", all[first]),
    }
}
