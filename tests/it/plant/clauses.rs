//! The parts of a statement: the rows that a SELECT of one table finds, the assignments of an UPDATE, the
//! values of an INSERT, and subqueries.

use std::ops::Range;

use super::text::{at_returning, commas, has_any, position, without_lock_clause, words};

/// What stands between the commas outside of parentheses and literals.
pub(super) fn parts(text: &str) -> Vec<&str> {
    let (mut start, mut parts) = (0, Vec::new());
    for comma in commas(text) {
        parts.push(text[start..comma].trim());
        start = comma + 1;
    }
    parts.push(text[start..].trim());
    parts
}

/// The place of the parentheses that open here, and of what is in them.
fn enclosed(text: &str, open: usize) -> Option<Range<usize>> {
    let (mut depth, mut quoted) = (0_u32, false);
    for (place, c) in text[open..].char_indices() {
        match c {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(open..open + place + 1);
        }
    }
    None
}

/// The list in the first parentheses from here on, and where they end.
fn list(text: &str, from: usize) -> Option<(Vec<&str>, usize)> {
    let open = from + text[from..].find('(')?;
    let place = enclosed(text, open)?;
    Some((parts(&text[place.start + 1..place.end - 1]), place.end))
}

/// The rows that a SELECT over one table with a row key finds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RowsFound {
    /// A plain reading of their keys.
    pub(super) keys: String,
    /// The table, with its other name.
    table: String,
    /// The name by which its columns are named.
    name: String,
}

impl RowsFound {
    pub(super) fn of(sql: &str) -> Option<Self> {
        const OTHERS: [&str; 11] = [
            "JOIN",
            "GROUP",
            "LIMIT",
            "UNION",
            "EXCEPT",
            "INTERSECT",
            "DISTINCT",
            "HAVING",
            "OVER",
            "WITH",
            "FORCE",
        ];
        let plain = without_lock_clause(sql).unwrap_or_else(|| sql.to_owned());
        let words = words(&plain);
        if words.first()?.text != "SELECT" || has_any(&words, &OTHERS) {
            return None;
        }
        let start = |wanted: &[&str]| position(&words, wanted).map(|place| words[place].start);
        let from = position(&words, &["FROM"])?;
        let end = start(&["ORDER", "BY"]).unwrap_or(plain.len());
        let table = plain[words[from].end..start(&["WHERE"]).unwrap_or(end)].trim();
        if table.contains(['(', ',']) {
            return None;
        }
        let names: Vec<&str> = table.split_whitespace().collect();
        let name = match names.as_slice() {
            [name] => *name,
            [_, between, name] if between.eq_ignore_ascii_case("AS") => *name,
            _ => return None,
        };
        Some(Self {
            keys: format!("SELECT {name}.pkey {}", &plain[words[from].start..end]),
            table: table.to_owned(),
            name: name.to_owned(),
        })
    }

    /// The table itself.
    pub(super) fn table(&self) -> &str {
        self.table.split_whitespace().next().unwrap_or_default()
    }

    /// A locking read of one of them by its key.
    pub(super) fn lock(&self, key: &str, clause: &str) -> String {
        let Self { table, name, .. } = self;
        format!("SELECT 1 FROM {table} WHERE {name}.pkey = {key} {clause}")
    }
}

/// An UPDATE of one table that has no other name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Assigned {
    pub(super) table: String,
    /// Columns with their new values.
    pub(super) values: Vec<(String, String)>,
    pub(super) predicate: String,
}

impl Assigned {
    pub(super) fn of(sql: &str) -> Option<Self> {
        const OTHERS: [&str; 7] = ["JOIN", "LIMIT", "FROM", "ORDER", "FORCE", "USE", "IGNORE"];
        let (write, _) = at_returning(sql);
        let words = words(write);
        if words.first()?.text != "UPDATE" || has_any(&words, &OTHERS) {
            return None;
        }
        let (set, at) = (position(&words, &["SET"])?, position(&words, &["WHERE"])?);
        let table = write[words[0].end..words[set].start].trim();
        if table.contains([',', ' ']) {
            return None;
        }
        let list = parts(&write[words[set].end..words[at].start]);
        let values = list.into_iter().map(|part| {
            let (name, value) = part.split_once(" = ")?;
            (value != "DEFAULT").then(|| (name.to_owned(), value.to_owned()))
        });
        Some(Self {
            table: table.to_owned(),
            values: values.collect::<Option<_>>()?,
            predicate: write[words[at].end..].trim().to_owned(),
        })
    }

    /// The new key and the old one, where it gives one row another key.
    pub(super) fn moved(&self) -> Option<(String, String)> {
        let (_, new) = self.values.iter().find(|(name, _)| name == "pkey")?;
        let (_, old) = self.predicate.split_once("pkey = ")?;
        let old = old.split_whitespace().next()?;
        let are_keys = new.parse::<i64>().is_ok() && old.parse::<i64>().is_ok();
        are_keys.then(|| (new.clone(), old.to_owned()))
    }
}

/// An INSERT of one row that names its columns.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InsertedRow {
    pub(super) table: String,
    names: Vec<String>,
    values: Vec<String>,
}

impl InsertedRow {
    pub(super) fn of(sql: &str) -> Option<Self> {
        let start = ["INSERT INTO ", "INSERT IGNORE INTO "];
        let rest = start.iter().find_map(|start| sql.strip_prefix(start))?;
        let (table, _) = rest.split_once(" (")?;
        let (names, behind) = list(rest, 0)?;
        if !rest[behind..].starts_with(" VALUES (") {
            return None;
        }
        let (values, end) = list(rest, behind)?;
        let own = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect();
        (!rest[end..].trim_start().starts_with(',')).then(|| Self {
            table: table.to_owned(),
            names: own(names),
            values: own(values),
        })
    }

    /// What it gives a column, unless that is NULL.
    pub(super) fn value(&self, column: &str) -> Option<&str> {
        let place = self.names.iter().position(|name| name == column)?;
        let value = self.values.get(place).map(String::as_str);
        value.filter(|value| *value != "NULL")
    }
}

/// The columns that a REPLACE of rows names, and what stands behind REPLACE INTO.
pub(super) fn replaced(sql: &str) -> Option<(Vec<&str>, &str)> {
    let rest = sql.strip_prefix("REPLACE INTO ")?;
    let (names, _) = list(rest, 0)?;
    let is_of_values = !has_any(&words(sql), &["SELECT", "RETURNING"]);
    is_of_values.then_some((names, rest))
}

/// A subquery in an expression.
pub(super) struct Subquery {
    place: Range<usize>,
    /// The word before it, in capitals; empty behind an operator or a parenthesis.
    before: String,
    /// The query, without its parentheses.
    pub(super) query: String,
}

impl Subquery {
    pub(super) fn all_of(sql: &str) -> Vec<Self> {
        let opened = sql.match_indices("(SELECT ");
        let subqueries = opened.filter_map(|(open, _)| {
            let place = enclosed(sql, open)?;
            let before = sql[..open].trim_end();
            let word = before.rsplit(|c: char| !c.is_ascii_alphanumeric());
            Some(Self {
                before: word.map(str::to_ascii_uppercase).next()?,
                query: sql[place.start + 1..place.end - 1].to_owned(),
                place,
            })
        });
        subqueries.collect()
    }

    /// The statement with the answer in the subquery's place: the first values of so many rows. None where
    /// that cannot be written down.
    pub(super) fn answered(&self, sql: &str, values: &[String], rows: usize) -> Option<String> {
        // None of them is NULL.
        let are_numbers =
            values.len() == rows && values.iter().all(|value| value.parse::<i64>().is_ok());
        let answer = match (self.before.as_str(), rows) {
            ("EXISTS", 0) => "(SELECT 1 WHERE 1 = 0)".to_owned(),
            ("EXISTS", _) => "(SELECT 1)".to_owned(),
            ("IN", 0) => "(SELECT 1 WHERE 1 = 0)".to_owned(),
            ("IN", _) if are_numbers => format!("({})", values.join(", ")),
            ("", 0) => "(NULL)".to_owned(),
            ("", 1) if are_numbers => format!("({})", values.join(", ")),
            _ => return None,
        };
        let (head, tail) = (&sql[..self.place.start], &sql[self.place.end..]);
        Some(format!("{head}{answer}{tail}"))
    }
}

#[test]
fn rows_found_are_those_of_one_table() {
    let found = RowsFound::of("SELECT a, b FROM `t` WHERE c ORDER BY a FOR UPDATE").expect("one");
    assert_eq!(found.keys, "SELECT `t`.pkey FROM `t` WHERE c ");
    let lock = "SELECT 1 FROM `t` WHERE `t`.pkey = 3 FOR SHARE";
    assert_eq!(found.lock("3", "FOR SHARE"), lock);
    let renamed = RowsFound::of("SELECT a FROM t AS u").expect("one");
    assert_eq!(renamed.keys, "SELECT u.pkey FROM t AS u");
    assert_eq!(RowsFound::of("SELECT a FROM t, u FOR UPDATE"), None);
    assert_eq!(RowsFound::of("SELECT a FROM t LIMIT 1"), None);
}

#[test]
fn writes_are_taken_apart() {
    let update = "UPDATE t SET pkey = 9, c = COALESCE(1, 'a, b') WHERE (t.pkey = 2 )";
    let assigned = Assigned::of(update).expect("one");
    assert_eq!(assigned.values[1].1, "COALESCE(1, 'a, b')");
    assert_eq!(assigned.moved(), Some(("9".to_owned(), "2".to_owned())));
    assert_eq!(Assigned::of("UPDATE t SET c = DEFAULT WHERE d"), None);
    let insert = "INSERT INTO t (pkey, c) VALUES (1, NULL)";
    let row = InsertedRow::of(insert).expect("one");
    assert_eq!((row.value("pkey"), row.value("c")), (Some("1"), None));
    assert_eq!(InsertedRow::of(&format!("{insert}, (2, 3)")), None);
    let (names, _) = replaced("REPLACE INTO t (pkey, c) VALUES (1, 2)").expect("one");
    assert_eq!(names, ["pkey", "c"]);
}

#[test]
fn an_answer_takes_the_place_of_its_subquery() {
    let sql = "UPDATE t SET a = (SELECT MAX(b) FROM u) WHERE c IN (SELECT d FROM v)";
    let subqueries = Subquery::all_of(sql);
    assert_eq!(subqueries[1].query, "SELECT d FROM v");
    let numbers = ["7".to_owned(), "8".to_owned()];
    assert_eq!(
        subqueries[0].answered(sql, &numbers[..1], 1).as_deref(),
        Some("UPDATE t SET a = (7) WHERE c IN (SELECT d FROM v)")
    );
    assert_eq!(subqueries[0].answered(sql, &[], 1), None);
    assert_eq!(
        subqueries[1].answered(sql, &numbers, 2).as_deref(),
        Some("UPDATE t SET a = (SELECT MAX(b) FROM u) WHERE c IN (7, 8)")
    );
}
