//! Tables as a set-up creates them.
//!
//! Read by words, not by the SQL parser: hand-written cases use whatever an engine accepts
//! (ZEROFILL, partitions, descending key parts, table options), and a table that is missed is not
//! compared.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::partition::{parent_of_partition, partition, partitioning};
use super::token::{
    SqlToken, TokenKind, behind_if_not_exists, closing, created_table, items, object_name, stands,
    tokens, without_end,
};
use crate::dialect::{Capability, Dialect};
use crate::model::{
    Clustering, Column, Folding, ForeignKey, ForeignKeyAction, SetupKind, SetupStatement,
    TableShape,
};

/// Whether a set-up statement defines the schema or inserts rows.
pub fn setup_kind(sql: &str, dialect: &Dialect) -> SetupKind {
    let words = tokens(sql, dialect).unwrap_or_default();
    let rows = [
        "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH", "LOAD", "SELECT",
    ];
    match words.first() {
        Some(first) if rows.iter().any(|word| first.is(word)) => SetupKind::Rows,
        _ => SetupKind::Schema,
    }
}

/// The tables that a set-up leaves behind, in the order of their creation.
///
/// The row key is the column `pkey`, the version key the column `vkey`; tables without them are
/// listed, too.
pub fn shapes(setup: &[SetupStatement], dialect: &Dialect) -> Vec<TableShape> {
    let mut tables: Vec<TableShape> = Vec::new();
    for statement in setup {
        let read_as = folded(&statement.sql, dialect);
        let Some(words) = tokens(&read_as, dialect) else {
            continue;
        };
        apply(without_end(&words), &statement.sql, dialect, &mut tables);
    }
    for table in &mut tables {
        table.clustering = clustering(table, dialect);
        for column in &mut table.columns {
            let collation = column.collation.as_ref();
            let known = collation.and_then(|name| dialect.collations.get(name));
            column.folding = known.copied().unwrap_or_default();
        }
    }
    let partitions = setup.iter().filter_map(|statement| {
        let read_as = folded(&statement.sql, dialect);
        partition(&tokens(&read_as, dialect)?)
    });
    name_parents(&mut tables, &partitions.collect());
    tables
}

/// A text in which every word outside of quotes is one of small letters, where the engine reads names so (PostgreSQL
/// manual, "Identifiers and Key Words"); each at its place.
fn folded<'s>(sql: &'s str, dialect: &Dialect) -> Cow<'s, str> {
    let folds = dialect.supports(Capability::FoldsNames);
    let Some(words) = tokens(sql, dialect).filter(|_| folds) else {
        return Cow::Borrowed(sql);
    };
    let mut text = sql.to_owned();
    for word in words.iter().filter(|word| word.kind == TokenKind::Word) {
        let small = word.text.to_ascii_lowercase();
        text.replace_range(word.span.clone(), &small);
    }
    Cow::Owned(text)
}

/// What gives the rows of a table their places. A table of `rowid`s lies in their order, and a primary key is
/// another name of them where it is one column of the type INTEGER (SQLite, "Rowid Tables").
fn clustering(table: &TableShape, dialect: &Dialect) -> Clustering {
    let is_rowid = |name: &String| {
        let column = table.column(name).map(|at| &table.columns[at]);
        column.is_some_and(|column| column.sql_type.eq_ignore_ascii_case("INTEGER"))
    };
    if dialect.supports(Capability::Rowid) {
        let clusters = table.clustering == Clustering::PrimaryKey
            || matches!(table.primary_key.as_deref(), Some([name]) if is_rowid(name));
        return match clusters {
            true => Clustering::PrimaryKey,
            false => Clustering::Heap,
        };
    }
    if dialect.supports(Capability::HeapTables) {
        Clustering::Heap
    } else if dialect.supports(Capability::ClustersByPrimaryKey) {
        Clustering::PrimaryKey
    } else {
        Clustering::AnyKey
    }
}

/// A foreign key without a list of columns references the primary key; one that references a partition, whose name in small letters leads
/// to that of its table, references rows of that table.
fn name_parents(tables: &mut [TableShape], partitions: &BTreeMap<String, String>) {
    let primary: Vec<(String, Vec<String>)> = tables
        .iter()
        .map(|table| {
            let columns = table.primary_key.iter().flatten();
            let columns = columns.map(|column| column.to_ascii_lowercase()).collect();
            (table.name.clone(), columns)
        })
        .collect();
    for key in tables.iter_mut().flat_map(|table| &mut table.foreign_keys) {
        while let Some(whole) = partitions.get(&key.parent.to_ascii_lowercase()) {
            key.parent.clone_from(whole);
        }
        let is_parent = |(name, _): &&(String, Vec<String>)| name.eq_ignore_ascii_case(&key.parent);
        if let Some((name, columns)) = primary.iter().find(is_parent) {
            key.parent.clone_from(name);
            if key.parent_columns.is_empty() {
                key.parent_columns.clone_from(columns);
            }
        }
    }
}

/// Applies one statement of the set-up to the tables; None when it is not a CREATE, ALTER or DROP
/// that is known here.
fn apply(
    words: &[SqlToken<'_>],
    sql: &str,
    dialect: &Dialect,
    tables: &mut Vec<TableShape>,
) -> Option<()> {
    let first = words.first()?;
    if first.is("CREATE") {
        let unique = words.get(1)?.is("UNIQUE");
        let index = usize::from(unique) + 1;
        if let Some(at) = words.iter().take(4).position(|word| word.is("TABLE")) {
            if parent_of_partition(words).is_some() {
                // Its rows are those of its table.
                return Some(());
            }
            let table = match like(words, at + 1, tables) {
                Some(copy) => copy,
                None => create(words, at + 1, sql, dialect)?,
            };
            tables.push(table);
        } else if words.get(index)?.is("INDEX") {
            create_index(words, unique, tables)?;
        }
    } else if first.is("DROP") && words.get(1)?.is("TABLE") {
        let at = if stands(words, 2, &["IF", "EXISTS"]) {
            4
        } else {
            2
        };
        let (name, _) = object_name(words, at)?;
        tables.retain(|table| !table.name.eq_ignore_ascii_case(&name));
    } else if first.is("ALTER") && words.get(1)?.is("TABLE") {
        let (name, at) = object_name(words, 2)?;
        let index = tables
            .iter()
            .position(|table| table.name.eq_ignore_ascii_case(&name))?;
        for item in items(words, at..words.len()) {
            alter(words, item, sql, dialect, &mut tables[index]);
        }
    }
    Some(())
}

/// `CREATE TABLE name LIKE other`, from the token after TABLE on: the other table without its foreign keys (MySQL manual, "CREATE
/// TABLE ... LIKE Statement").
fn like(words: &[SqlToken<'_>], at: usize, tables: &[TableShape]) -> Option<TableShape> {
    let (name, at) = object_name(words, at)?;
    words.get(at).filter(|word| word.is("LIKE"))?;
    let (other, end) = object_name(words, at + 1)?;
    let other = tables
        .iter()
        .find(|table| table.name.eq_ignore_ascii_case(&other));
    Some(TableShape {
        name,
        foreign_keys: Vec::new(),
        ..other.filter(|_| end == words.len())?.clone()
    })
}

/// `CREATE TABLE`, from the token after TABLE on.
fn create(words: &[SqlToken<'_>], at: usize, sql: &str, dialect: &Dialect) -> Option<TableShape> {
    let at = behind_if_not_exists(words, at);
    let (name, at) = object_name(words, at)?;
    let mut table = TableShape {
        name,
        columns: Vec::new(),
        row_key: None,
        version_key: None,
        primary_key: None,
        unique_keys: Vec::new(),
        exclusions: Vec::new(),
        indexes: Vec::new(),
        other_indexes: Vec::new(),
        loose_keys: Vec::new(),
        later_indexes: Vec::new(),
        foreign_keys: Vec::new(),
        partitioning: None,
        storage_engine: None,
        clustering: Clustering::default(),
    };
    if words.get(at)?.is_mark('(') {
        let end = closing(words, at)?;
        table.partitioning = partitioning(words, end);
        table.storage_engine = storage_engine(words, end);
        if (end..words.len()).any(|at| stands(words, at, &["WITHOUT", "ROWID"])) {
            table.clustering = Clustering::PrimaryKey;
        }
        for item in items(words, at + 1..end) {
            element(words, item, sql, dialect, &mut table);
        }
        let of_table = collation(words, end..words.len());
        for column in &mut table.columns {
            column.collation = column.collation.take().or(of_table.clone());
        }
    }
    Some(table)
}

/// The collation that a column, or the options of a table, name: `COLLATE x`, `COLLATE=x`.
fn collation(words: &[SqlToken<'_>], mut item: Range<usize>) -> Option<String> {
    let at = item.find(|at| words[*at].is("COLLATE"))?;
    let equals = words.get(at + 1)?.is_mark('=');
    words.get(at + 1 + usize::from(equals))?.name()
}

/// The storage engine that the options of a CREATE TABLE name, from this token on.
fn storage_engine(words: &[SqlToken<'_>], from: usize) -> Option<String> {
    let at = (from..words.len()).find(|at| words[*at].is("ENGINE"))?;
    let equals = words.get(at + 1)?.is_mark('=');
    words.get(at + 1 + usize::from(equals))?.name()
}

/// The table that a CREATE TABLE makes, and the ranges of the elements of its list, in tokens.
pub(super) fn element_ranges(words: &[SqlToken<'_>]) -> Option<(String, Vec<Range<usize>>)> {
    let (name, at) = created_table(words)?;
    words.get(at).filter(|word| word.is_mark('('))?;
    let end = closing(words, at)?;
    Some((name, items(words, at + 1..end)))
}

/// One element of CREATE TABLE's list, or of ADD in ALTER TABLE: a column or a key.
fn element(
    words: &[SqlToken<'_>],
    item: Range<usize>,
    sql: &str,
    dialect: &Dialect,
    table: &mut TableShape,
) -> Option<()> {
    let mut at = item.start;
    if words[at].is("CONSTRAINT") {
        at += 1;
        let names_next = ["PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "EXCLUDE"];
        if !names_next
            .iter()
            .any(|word| words.get(at).is_some_and(|w| w.is(word)))
        {
            at += 1;
        }
    }
    let first = words.get(at).filter(|_| at < item.end)?;
    let is_key = first.is("UNIQUE") || stands(words, at, &["PRIMARY", "KEY"]);
    // A column may be called `key` where names are quoted, and on engines whose lists hold no plain index without quotes, too.
    let holds_indexes = dialect.supports(Capability::IndexInTable);
    let is_index = holds_indexes && (first.is("KEY") || first.is("INDEX"));
    if is_key || is_index {
        let open = (at..item.end).find(|index| words[*index].is_mark('('))?;
        match key_columns(words, open) {
            Some(columns) if is_key => {
                if words[at].is("PRIMARY") {
                    table.primary_key = Some(columns.clone());
                }
                table.unique_keys.push(columns);
            }
            Some(columns) => table.indexes.push(columns),
            None => {
                let named = names(&words[open..item.end]);
                table.loose_keys.extend(is_key.then(|| named.clone()));
                table.other_indexes.push(named);
            }
        }
        return Some(());
    }
    if first.is("EXCLUDE") {
        match excluded_by_equality(words, at..item.end) {
            Some(key) => table.exclusions.push(key),
            None => table.loose_keys.push(names(&words[at..item.end])),
        }
        return Some(());
    }
    if first.is("FOREIGN") {
        let open = (at..item.end).find(|index| words[*index].is_mark('('))?;
        let columns = key_columns(words, open)?;
        table
            .foreign_keys
            .extend(foreign_key(words, at..item.end, &columns));
        return Some(());
    }
    let mut others = ["FULLTEXT", "SPATIAL", "PERIOD"].iter();
    let is_other = first.is("CHECK") || first.is("LIKE");
    if is_other || (holds_indexes && others.any(|word| first.is(word))) {
        return Some(());
    }
    column(words, at..item.end, sql, table)
}

/// The columns of `EXCLUDE [USING ..] (column WITH =, ..)` over all rows; none with another operator.
fn excluded_by_equality(words: &[SqlToken<'_>], item: Range<usize>) -> Option<Vec<String>> {
    let open = item.clone().find(|at| words[*at].is_mark('('))?;
    let end = closing(words, open)?;
    let is_equality = |element: &Range<usize>| {
        let operator = (element.start..element.end).find(|at| words[*at].is("WITH"));
        operator.is_some_and(|at| at + 2 == element.end && words[at + 1].is_mark('='))
    };
    let is_whole = !words[end..item.end].iter().any(|word| word.is("WHERE"));
    let all = items(words, open + 1..end).iter().all(is_equality);
    key_columns(words, open).filter(|_| is_whole && all)
}

/// The foreign key of these columns, from its REFERENCES on; none where there is none.
fn foreign_key(
    words: &[SqlToken<'_>],
    item: Range<usize>,
    columns: &[String],
) -> Option<ForeignKey> {
    let at = item.clone().find(|at| words[*at].is("REFERENCES"))?;
    let (parent, next) = object_name(words, at + 1)?;
    let listed = words.get(next).is_some_and(|word| word.is_mark('(')) && next < item.end;
    let lower = |names: Vec<String>| names.iter().map(|name| name.to_ascii_lowercase()).collect();
    let action = |on: &str| {
        let at = (next..item.end).find(|at| stands(words, *at, &["ON", on]));
        at.map_or(ForeignKeyAction::Refuse, |at| action(words, at + 2))
    };
    Some(ForeignKey {
        columns: lower(columns.to_vec()),
        parent,
        parent_columns: if listed {
            lower(key_columns(words, next)?)
        } else {
            Vec::new()
        },
        on_delete: action("DELETE"),
        on_update: action("UPDATE"),
    })
}

/// The action of a foreign key: the words after ON DELETE or ON UPDATE.
fn action(words: &[SqlToken<'_>], at: usize) -> ForeignKeyAction {
    match words.get(at) {
        Some(word) if word.is("CASCADE") => ForeignKeyAction::Cascade,
        Some(word) if word.is("SET") => ForeignKeyAction::Set,
        _ => ForeignKeyAction::Refuse,
    }
}

/// The columns of a key's list, without lengths and directions. None when a part is an expression,
/// which makes no set of columns unique.
pub(super) fn key_columns(words: &[SqlToken<'_>], open: usize) -> Option<Vec<String>> {
    let end = closing(words, open)?;
    items(words, open + 1..end)
        .into_iter()
        .map(|item| words.get(item.start)?.name())
        .collect()
}

/// The end of a column's type: the first word of its options.
const COLUMN_OPTIONS: &[&str] = &[
    "NOT",
    "NULL",
    "DEFAULT",
    "PRIMARY",
    "UNIQUE",
    "KEY",
    "AUTO_INCREMENT",
    "AUTOINCREMENT",
    "COMMENT",
    "COLLATE",
    "REFERENCES",
    "CHECK",
    "CONSTRAINT",
    "GENERATED",
    "AS",
    "VIRTUAL",
    "STORED",
    "PERSISTENT",
    "INVISIBLE",
    "VISIBLE",
    "ON",
    "FIRST",
    "AFTER",
    "STORAGE",
];

fn column(
    words: &[SqlToken<'_>],
    item: Range<usize>,
    sql: &str,
    table: &mut TableShape,
) -> Option<()> {
    let name = words[item.start].name()?;
    let options = (item.start + 1..item.end)
        .find(|at| COLUMN_OPTIONS.iter().any(|word| words[*at].is(word)))
        .unwrap_or(item.end);
    let sql_type = if options > item.start + 1 {
        sql[words[item.start + 1].span.start..words[options - 1].span.end].to_owned()
    } else {
        String::new()
    };
    table.foreign_keys.extend(foreign_key(
        words,
        options..item.end,
        std::slice::from_ref(&name),
    ));
    let (mut generated, mut stored) = (false, false);
    let (mut not_null, mut counted) = (false, false);
    let mut depth = 0;
    for at in options..item.end {
        depth += i32::from(words[at].is_mark('(')) - i32::from(words[at].is_mark(')'));
        if depth > 0 {
            continue;
        }
        let key = (words[at].is("KEY") && (at == 0 || !words[at - 1].is("UNIQUE")))
            || words[at].is("UNIQUE");
        // A bare KEY makes a column the primary key.
        if key {
            table.unique_keys.push(vec![name.clone()]);
        }
        if key && !words[at].is("UNIQUE") {
            table.primary_key = Some(vec![name.clone()]);
            not_null = true;
        }
        // Of an identity by default a row that is put in place may bring its number.
        generated |= words[at].is("AS") && !stands(words, at - 1, &["DEFAULT", "AS", "IDENTITY"]);
        stored |= words[at].is("STORED") || words[at].is("PERSISTENT");
        not_null |= stands(words, at, &["NOT", "NULL"]);
        counted |= words[at].is("AUTO_INCREMENT") || words[at].is("AUTOINCREMENT");
        // PostgreSQL manual, "Identity Columns".
        counted |= words[at].is("IDENTITY");
    }
    // PostgreSQL manual, "Serial Types"; MySQL manual, "Numeric Data Type Syntax".
    counted |= ["SERIAL", "BIGSERIAL", "SMALLSERIAL"]
        .iter()
        .any(|name| sql_type.eq_ignore_ascii_case(name));
    if name.eq_ignore_ascii_case("pkey") {
        table.row_key = Some(name.clone());
    }
    if name.eq_ignore_ascii_case("vkey") {
        table.version_key = Some(name.clone());
    }
    table.columns.push(Column {
        name,
        sql_type,
        generated,
        stored,
        not_null,
        counted,
        collation: collation(words, options..item.end),
        folding: Folding::default(),
    });
    Some(())
}

/// One clause of ALTER TABLE: additions and dropped columns.
fn alter(
    words: &[SqlToken<'_>],
    item: Range<usize>,
    sql: &str,
    dialect: &Dialect,
    table: &mut TableShape,
) -> Option<()> {
    let first = words.get(item.start)?;
    let skip = usize::from(
        words
            .get(item.start + 1)
            .is_some_and(|word| word.is("COLUMN")),
    );
    let rest = item.start + 1 + skip..item.end;
    if rest.is_empty() {
        return None;
    }
    if first.is("ADD") {
        let list = words[rest.start].is_mark('(');
        let added = match list.then(|| closing(words, rest.start)).flatten() {
            Some(end) => items(words, rest.start + 1..end),
            None => vec![rest],
        };
        for item in added {
            element(words, item, sql, dialect, table)?;
        }
    } else if first.is("DROP") {
        let name = words[rest.start].name()?;
        table
            .columns
            .retain(|column| !column.name.eq_ignore_ascii_case(&name));
    }
    Some(())
}

/// `CREATE [UNIQUE] INDEX name ON table (..)`. A partial index is unique for some rows only, and an
/// index over an expression makes no set of columns unique: they are no keys.
fn create_index(words: &[SqlToken<'_>], unique: bool, tables: &mut [TableShape]) -> Option<()> {
    let on = words.iter().position(|word| word.is("ON"))?;
    let (name, at) = object_name(words, on + 1)?;
    let open = (at..words.len()).find(|index| words[*index].is_mark('('))?;
    let end = closing(words, open)?;
    let table = tables
        .iter_mut()
        .find(|table| table.name.eq_ignore_ascii_case(&name))?;
    let partial = words[end..].iter().any(|word| word.is("WHERE"));
    let known = |columns: &Vec<String>| columns.iter().all(|name| table.column(name).is_some());
    match key_columns(words, open).filter(known) {
        Some(columns) if unique && !partial => table.unique_keys.push(columns),
        Some(columns) if !unique => table.indexes.push(columns),
        Some(_) | None => {
            let named = names(&words[open..]);
            table.loose_keys.extend(unique.then(|| named.clone()));
            table.other_indexes.push(named);
        }
    }
    Some(())
}

/// The names in an index's list and condition: of columns, and of functions.
fn names(words: &[SqlToken<'_>]) -> Vec<String> {
    words.iter().filter_map(SqlToken::name).collect()
}

#[cfg(test)]
mod tests {
    use super::{setup_kind, shapes};
    use crate::dialect::dialect_of;
    use crate::model::SetupStatement;

    #[test]
    fn an_index_over_an_expression_or_of_some_rows_is_no_key_and_is_there() {
        let table = |engine: &str, index: &str| {
            let texts = [
                "CREATE TABLE t (pkey BIGINT PRIMARY KEY, a INT, b INT)",
                index,
            ];
            let dialect = dialect_of(engine, "99");
            let setup = texts.map(|sql| SetupStatement {
                kind: setup_kind(sql, &dialect),
                sql: sql.to_owned(),
            });
            shapes(&setup, &dialect).remove(0)
        };
        for (engine, index) in [
            ("mysql", "CREATE INDEX i ON t ((b + 1))"),
            ("mysql", "CREATE UNIQUE INDEX i ON t ((b + 1), a)"),
            ("mysql", "ALTER TABLE t ADD INDEX i ((b + 1))"),
            ("postgres", "CREATE INDEX i ON t (abs(b))"),
            ("postgres", "CREATE UNIQUE INDEX i ON t (a) WHERE b > 0"),
            ("postgres", "CREATE INDEX i ON t (a, b)"),
        ] {
            let table = table(engine, index);
            assert_eq!(table.unique_keys, [["pkey"]], "{index}");
            assert!(!table.has_one_index(), "{index}");
            let mut indexed = table.indexed_columns();
            assert!(indexed.any(|column| column == "b"), "{index}");
        }
        let key = table("mysql", "CREATE UNIQUE INDEX i ON t (a)");
        assert_eq!(key.unique_keys, [["pkey"], ["a"]]);
        assert!(table("mysql", "INSERT INTO t VALUES (1, 1, 1)").has_one_index());
    }

    #[test]
    fn an_exclusion_by_equality_over_all_rows_is_a_key_and_no_other_is() {
        let postgres = dialect_of("postgres", "99");
        let keys = |constraint: &str| {
            let texts = [
                "CREATE TABLE t (pkey BIGINT PRIMARY KEY, a INT, b INT, r INT4RANGE)".to_owned(),
                format!("ALTER TABLE t ADD CONSTRAINT x {constraint}"),
            ];
            let setup = texts.map(|sql| SetupStatement {
                kind: setup_kind(&sql, &postgres),
                sql,
            });
            shapes(&setup, &postgres)[0].exclusions.clone()
        };
        assert_eq!(keys("EXCLUDE USING hash (a WITH =)"), [["a"]]);
        assert_eq!(
            keys("EXCLUDE (a WITH =, b WITH =) DEFERRABLE"),
            [["a", "b"]]
        );
        let none: [Vec<String>; 0] = [];
        assert_eq!(keys("EXCLUDE USING gist (r WITH &&)"), none);
        assert_eq!(keys("EXCLUDE USING gist (a WITH =, r WITH &&)"), none);
        assert_eq!(keys("EXCLUDE (a WITH =) WHERE (b > 0)"), none);
    }
}
