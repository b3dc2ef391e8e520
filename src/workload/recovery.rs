//! Cases for a server that is killed while they run.
//!
//! Short transactions of concurrent sessions insert, change and delete rows that they name by their key.
//! No value is written twice, so that a row that survived the crash names its writer. The case is longer
//! than what runs before the server is gone.

use std::collections::BTreeMap;

use super::case::{CaseLevels, case_seed, isolation};
use super::draw::{Distribution, KeyWeights, SessionDraws};
use crate::dialect::Dialect;
use crate::model::{Effect, Pace, SessionId, SetupKind, SetupStatement, StatementKind, TestCase};
use crate::statement::{analyze, shapes};

/// Statements of a case, about: a tenth of a second or more of work for a server on a RAM disk.
const STATEMENTS: usize = 6_000;

/// Rows that each table has at first, which all sessions change.
const SHARED_ROWS: i64 = 8;

/// The case of this seed and index: 3 to 8 sessions on 2 or 3 tables, at the free pace.
pub fn recovery_case(seed: u64, index: u64, levels: CaseLevels, dialect: &Dialect) -> TestCase {
    let seed = case_seed(b"recovery case\0", seed, index);
    let mut draw = SessionDraws::new(seed, u32::MAX, KeyWeights::new(Distribution::Uniform, 1));
    let sessions = 3 + draw.below(6);
    let mut lines = DrawnLines::new(&mut draw, dialect);
    let setup = lines.setup(&mut draw);
    while lines.lines.len() < STATEMENTS {
        for session in 1..=sessions {
            lines.transaction(&mut draw, SessionId(session));
        }
    }
    // Last: the statements are the same whatever levels were asked for.
    let isolation = isolation(&mut draw, sessions, levels.levels, &dialect.levels);
    let tables = shapes(&setup, dialect);
    TestCase::new(setup, tables, lines.lines, isolation, levels.claim).at_pace(Pace::Free)
}

/// What a transaction does to one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowStep {
    /// Inserts so many rows with new keys, from the key on.
    Insert(i64),
    Update,
    Delete,
    /// Deletes the row and inserts another of the same key.
    Replace,
}

/// What statements of one effect share: their kind, their table, and whether they have several rows of VALUES.
type EffectKey = (StatementKind, usize, bool);

/// The statements of all sessions.
struct DrawnLines<'a> {
    dialect: &'a Dialect,
    tables: Vec<String>,
    /// Length of the text in each row, in bytes.
    text_length: usize,
    lines: Vec<(SessionId, String, Effect)>,
    /// The effect of each kind of statement on each table. Only the value that is assigned differs.
    effects: BTreeMap<EffectKey, Effect>,
    /// The value written last; values are unique.
    value: i64,
    /// The next new key of each table.
    next_key: Vec<i64>,
    /// Keys that a session inserted, by table.
    own: BTreeMap<(SessionId, usize), Vec<i64>>,
}

impl<'a> DrawnLines<'a> {
    fn new(draw: &mut SessionDraws, dialect: &'a Dialect) -> Self {
        let tables = 2 + draw.below(2) as usize;
        Self {
            dialect,
            tables: (1..=tables)
                .map(|n| dialect.quote(&format!("r{n}")))
                .collect(),
            text_length: [8, 8, 60, 400][draw.below(4) as usize],
            lines: Vec::new(),
            effects: BTreeMap::new(),
            value: 0,
            next_key: vec![SHARED_ROWS; tables],
            own: BTreeMap::new(),
        }
    }

    /// Tables with an index on the value, or a unique one, or none; and their first rows.
    fn setup(&mut self, draw: &mut SessionDraws) -> Vec<SetupStatement> {
        let mut setup = Vec::new();
        let mut schema = |sql: String| {
            setup.push(SetupStatement {
                sql,
                kind: SetupKind::Schema,
            });
        };
        let options = &self.dialect.spelling.table_options;
        let [key, value, text] = self.columns();
        for (number, table) in (1..).zip(&self.tables) {
            schema(format!(
                "CREATE TABLE {table} ({key} INTEGER NOT NULL PRIMARY KEY, {value} BIGINT NOT NULL, \
                 {text} VARCHAR(400) NOT NULL){options}"
            ));
            let index = self.dialect.quote(&format!("i{number}"));
            match draw.below(3) {
                0 => {}
                1 => schema(format!("CREATE INDEX {index} ON {table} ({value})")),
                _ => schema(format!("CREATE UNIQUE INDEX {index} ON {table} ({value})")),
            }
        }
        for table in 0..self.tables.len() {
            setup.push(SetupStatement {
                sql: self.insert(table, 0, SHARED_ROWS),
                kind: SetupKind::Rows,
            });
        }
        setup
    }

    fn columns(&self) -> [String; 3] {
        ["pkey", "v", "pad"].map(|name| self.dialect.quote(name))
    }

    fn transaction(&mut self, draw: &mut SessionDraws, session: SessionId) {
        let is_alone = draw.percent(10);
        let steps = self.steps(draw, session, is_alone);
        let spelling = &self.dialect.spelling;
        let (commit, rollback) = (spelling.commit.clone(), spelling.rollback.clone());
        if !is_alone {
            let begin = spelling.begin.get("plain").cloned().unwrap_or_default();
            self.push(session, (StatementKind::Begin, 0, false), begin);
        }
        // In the order of their keys: sessions wait for each other, and seldom in a circle.
        for ((table, key), step) in steps {
            self.step(session, table, key, step);
        }
        if is_alone {
            return;
        }
        match draw.percent(85) {
            true => self.push(session, (StatementKind::Commit, 0, false), commit),
            false => self.push(session, (StatementKind::Rollback, 0, false), rollback),
        }
    }

    /// The rows that a transaction writes, each once. One that is `alone` is a statement without BEGIN,
    /// which writes no row that another session writes: when it took place is not known if it gets no
    /// answer.
    fn steps(
        &mut self,
        draw: &mut SessionDraws,
        session: SessionId,
        alone: bool,
    ) -> BTreeMap<(usize, i64), RowStep> {
        let wanted = if alone { 1 } else { 1 + draw.below(4) };
        let mut steps = BTreeMap::new();
        for _ in 0..wanted {
            let table = draw.below(self.tables.len() as u32) as usize;
            let own = self.own.entry((session, table)).or_default();
            if !alone && draw.percent(30) {
                let key = draw.below(SHARED_ROWS as u32);
                steps.entry((table, key.into())).or_insert(RowStep::Update);
            } else if own.is_empty() || draw.percent(50) {
                let rows = 1 + i64::from(draw.below(3));
                let key = self.next_key[table];
                self.next_key[table] += rows;
                own.extend(key..key + rows);
                steps.insert((table, key), RowStep::Insert(rows));
            } else {
                let key = own[draw.below(own.len() as u32) as usize];
                let step = match draw.below(4) {
                    0 => RowStep::Delete,
                    1 if !alone => RowStep::Replace,
                    _ => RowStep::Update,
                };
                steps.entry((table, key)).or_insert(step);
            }
        }
        steps
    }

    fn step(&mut self, session: SessionId, table: usize, key: i64, step: RowStep) {
        let [key_column, value_column, text_column] = self.columns();
        let name = self.tables[table].clone();
        if matches!(step, RowStep::Delete | RowStep::Replace) {
            let sql = format!("DELETE FROM {name} WHERE {key_column} = {key}");
            self.push(session, (StatementKind::Delete, table, false), sql);
        }
        match step {
            RowStep::Delete => {}
            RowStep::Replace => {
                let sql = self.insert(table, key, 1);
                self.push(session, (StatementKind::Insert, table, false), sql);
            }
            RowStep::Insert(rows) => {
                let sql = self.insert(table, key, rows);
                self.push(session, (StatementKind::Insert, table, rows > 1), sql);
            }
            RowStep::Update => {
                let (value, text) = self.next_value();
                let sql = format!(
                    "UPDATE {name} SET {value_column} = {value}, {text_column} = '{text}' WHERE \
                     {key_column} = {key}"
                );
                self.push(session, (StatementKind::Update, table, false), sql);
            }
        }
    }

    /// Inserts rows with these keys.
    fn insert(&mut self, table: usize, first_key: i64, rows: i64) -> String {
        let rows = (first_key..first_key + rows).map(|key| {
            let (value, text) = self.next_value();
            format!("({key}, {value}, '{text}')")
        });
        let rows: Vec<String> = rows.collect();
        let (table, columns) = (&self.tables[table], self.columns().join(", "));
        format!("INSERT INTO {table} ({columns}) VALUES {}", rows.join(", "))
    }

    /// A value that no other write has, and a text made of it.
    fn next_value(&mut self) -> (i64, String) {
        self.value += 1;
        let word = format!("{}.", self.value);
        let text = word.repeat(self.text_length / word.len() + 1);
        (
            self.value,
            text[..self.text_length.max(word.len())].to_owned(),
        )
    }

    fn push(&mut self, session: SessionId, form: EffectKey, sql: String) {
        let dialect = self.dialect;
        let effect = self.effects.entry(form);
        let mut effect = effect.or_insert_with(|| analyze(&sql, dialect)).clone();
        for assigned in effect.assigned.values_mut().flatten() {
            *assigned = self.value;
        }
        self.lines.push((session, sql, effect));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::dialect::dialect_of;
    use crate::generate::LevelChoice;
    use crate::model::Value;
    use crate::statement::{RowWrite, row_write};

    fn drawn(engine: &str, index: u64) -> (TestCase, Dialect) {
        let dialect = dialect_of(engine, "10.11.0");
        let levels = CaseLevels {
            levels: LevelChoice::AnyOne,
            claim: None,
        };
        (recovery_case(7, index, levels, &dialect), dialect)
    }

    #[test]
    fn a_case_is_a_pure_function_of_seed_and_index() {
        let (case, dialect) = drawn("mariadb", 1);
        assert_eq!(case, drawn("mariadb", 1).0);
        assert_ne!(case, drawn("mariadb", 2).0);
        assert!(case.statements.len() >= STATEMENTS);
        for statement in case.statements.iter().take(600) {
            assert_eq!(
                statement.effect,
                analyze(&statement.sql, &dialect),
                "{}",
                statement.sql
            );
        }
    }

    #[test]
    fn every_write_names_its_rows_and_writes_values_of_its_own() {
        for engine in ["mariadb", "mysql", "postgres"] {
            let (case, dialect) = drawn(engine, 3);
            let mut values = BTreeSet::new();
            let setup = case.setup.iter().filter(|s| s.kind == SetupKind::Rows);
            let writes = case.user_statements().map(|s| &s.sql);
            for sql in setup.map(|s| &s.sql).chain(writes) {
                let write = row_write(sql, &dialect).unwrap_or_else(|| panic!("{engine}: {sql}"));
                let written: Vec<Value> = match write {
                    RowWrite::Insert { rows, .. } => {
                        rows.into_iter().map(|r| r[1].clone()).collect()
                    }
                    RowWrite::Update { assigned, .. } => vec![assigned[0].1.clone()],
                    RowWrite::Delete { .. } => Vec::new(),
                };
                for value in written {
                    assert!(
                        values.insert(value.clone()),
                        "{engine}: {value} is written twice"
                    );
                }
            }
            assert!(values.len() > 2_000, "{engine}: {}", values.len());
        }
    }
}
