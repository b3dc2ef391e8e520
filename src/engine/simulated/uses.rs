//! Which tables a statement names, which it writes, and by which condition it reads each.

use std::collections::{BTreeMap, BTreeSet};

use super::locks::{Condition, Extent};
use super::token::{Lexeme, LexemeKind, tokens};
use super::version::RowNumber;

/// What a statement does with tables. Names are in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TableUses {
    /// The table that is written.
    pub(super) target: Option<String>,
    /// The tables that are read, the target of an UPDATE or DELETE among them.
    pub(super) reads: Vec<(String, Extent)>,
    /// An INSERT or REPLACE, and what it does about keys that are there.
    pub(super) insert: Option<OnDuplicate>,
    /// Where each table is named: how many parentheses are open there.
    pub(super) depths: BTreeMap<String, BTreeSet<usize>>,
}

/// What an INSERT does about a row whose key is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnDuplicate {
    Fail,
    /// A clause handles it.
    Handle,
}

impl TableUses {
    /// Every table that is named.
    pub(super) fn tables(&self) -> BTreeSet<&String> {
        let reads = self.reads.iter().map(|(table, _)| table);
        reads.chain(&self.target).collect()
    }
}

/// Reads the uses off a statement. `known` are the tables of the database, `views` its views, which
/// may read any of them.
pub(super) fn uses(sql: &str, known: &BTreeSet<String>, views: &BTreeSet<String>) -> TableUses {
    let words = tokens(sql);
    let mentions: Vec<(usize, String)> = mentions(&words, known).collect();
    let first = words.first();
    let verb = |names: &[&str]| first.is_some_and(|first| first.is_any(names));
    let inserts = verb(&["INSERT", "REPLACE"]);
    let target = (inserts || verb(&["UPDATE", "DELETE"]))
        .then(|| mentions.first().cloned())
        .flatten();
    let mut read: Vec<&(usize, String)> = mentions.iter().collect();
    if inserts && !read.is_empty() {
        read.remove(0);
    }
    let narrow = if inserts {
        let select = words.iter().position(|w| w.depth == 0 && w.is("SELECT"));
        select.and_then(|at| condition(sql, &words[at..], known))
    } else {
        condition(sql, &words, known)
    };
    let mut result = TableUses {
        insert: inserts.then(|| on_duplicate(&words)),
        target: target.map(|(_, name)| name),
        reads: Vec::new(),
        depths: BTreeMap::new(),
    };
    for (at, name) in &mentions {
        let depths = result.depths.entry(name.clone()).or_default();
        depths.insert(words[*at].depth);
    }
    let tables: BTreeSet<&String> = read.iter().map(|(_, name)| name).collect();
    for table in tables {
        let times = mentions.iter().filter(|(_, name)| name == table).count();
        let extent = match &narrow {
            Some((name, condition)) if name == table && times == 1 => {
                Extent::Matching(condition.clone())
            }
            _ => Extent::Whole,
        };
        result.reads.push((table.clone(), extent));
    }
    let sees_view = words
        .iter()
        .any(|word| word.name().is_some_and(|name| views.contains(&name)));
    if sees_view {
        result.reads = known.iter().map(|t| (t.clone(), Extent::Whole)).collect();
    }
    result
}

/// Where tables are named: not as the first part of a column's name, nor as an alias.
fn mentions<'w>(
    words: &'w [Lexeme<'_>],
    known: &'w BTreeSet<String>,
) -> impl Iterator<Item = (usize, String)> + 'w {
    words.iter().enumerate().filter_map(move |(at, word)| {
        let name = word.name().filter(|name| known.contains(name))?;
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        let is_part = words.get(at + 1).is_some_and(|next| next.is_mark("."))
            || before.is_some_and(|before| before.is_mark(".") || before.is("AS"));
        (!is_part).then_some((at, name))
    })
}

fn on_duplicate(words: &[Lexeme<'_>]) -> OnDuplicate {
    let replaces = words.first().is_some_and(|first| first.is("REPLACE"));
    let or = words.get(1).is_some_and(|second| second.is("OR"));
    let pairs = words.windows(2);
    let mut conflicts = pairs.filter(|pair| pair[0].is("ON") && pair[1].is("CONFLICT"));
    if replaces || or || conflicts.next().is_some() {
        OnDuplicate::Handle
    } else {
        OnDuplicate::Fail
    }
}

/// The table that a query, UPDATE or DELETE of one table goes through, and by which condition.
fn condition(
    sql: &str,
    words: &[Lexeme<'_>],
    known: &BTreeSet<String>,
) -> Option<(String, Condition)> {
    const ENDS: [&str; 6] = ["GROUP", "ORDER", "LIMIT", "WINDOW", "RETURNING", "HAVING"];
    let outer = |names: &[&str]| {
        let named = |word: &Lexeme<'_>| word.depth == 0 && word.is_any(names);
        words.iter().position(named)
    };
    let first = words.first()?;
    if outer(&["UNION", "EXCEPT", "INTERSECT"]).is_some() {
        return None;
    }
    let end = outer(&ENDS).unwrap_or(words.len());
    let filter = outer(&["WHERE"]);
    let (start, stop) = if first.is("UPDATE") {
        if outer(&["FROM"]).is_some() {
            return None;
        }
        (1, outer(&["SET"])?)
    } else if first.is_any(&["SELECT", "DELETE"]) {
        (outer(&["FROM"])? + 1, filter.unwrap_or(end))
    } else {
        return None;
    };
    let from = words.get(start..stop)?;
    let alias = match from {
        [table] => table,
        [_, alias] => alias,
        [_, word, alias] if word.is("AS") => alias,
        // `t INDEXED BY "i"`: the rows are those of the table.
        [table, word, ..] if word.is("INDEXED") && from.len() == 4 => table,
        _ => return None,
    };
    let table = from.first()?.name().filter(|name| known.contains(name))?;
    let test = match filter {
        Some(at) => words.get(at + 1..end)?,
        None => &[],
    };
    if test.iter().any(|word| word.is("SELECT")) {
        return None;
    }
    let text = match (test.first(), test.last()) {
        (Some(first), Some(last)) => sql[first.at..last.end()].to_owned(),
        _ => return None,
    };
    let alias_text = alias.text.to_owned();
    let from = if from.len() == 4 {
        alias_text.clone()
    } else {
        sql[from.first()?.at..from.last()?.end()].to_owned()
    };
    Some((
        table,
        Condition {
            from,
            alias: alias_text,
            text,
        },
    ))
}

/// How a write chooses the rows of its target.
pub(super) struct ChosenRows<'c> {
    pub(super) rows: &'c BTreeSet<RowNumber>,
    /// The condition of the statement must hold, too.
    pub(super) checked: bool,
    /// A row that is chosen whatever the condition says.
    pub(super) extra: Option<RowNumber>,
}

/// The same write with its target in the schema `main`, and an UPDATE or DELETE of no other rows than
/// these. None where no table of ours is written.
pub(super) fn of_rows(
    sql: &str,
    known: &BTreeSet<String>,
    chosen: Option<&ChosenRows<'_>>,
) -> Option<String> {
    const ENDS: [&str; 3] = ["ORDER", "LIMIT", "RETURNING"];
    const CLAUSES: [&str; 6] = ["SET", "WHERE", "FROM", "INDEXED", "NOT", "RETURNING"];
    let words = tokens(sql);
    let (place, _) = mentions(&words, known).next()?;
    let target = words[place];
    let Some(chosen) = chosen else {
        return Some(format!("{}main.{}", &sql[..target.at], &sql[target.at..]));
    };
    let alias = match words.get(place + 1) {
        Some(word) if word.is("AS") => words.get(place + 2).copied(),
        Some(word) if !word.is_any(&CLAUSES) && word.kind != LexemeKind::Mark => Some(*word),
        Some(_) | None => None,
    };
    let alias = alias.unwrap_or(target).text;
    let outer = |names: &[&str]| {
        let mut rest = words.iter().enumerate().skip(place + 1);
        rest.find(|(_, word)| word.depth == 0 && word.is_any(names))
            .map(|(at, _)| at)
    };
    let end = outer(&ENDS);
    let stop = end.map_or(sql.len(), |at| words[at].at);
    let filter = outer(&["WHERE"]).map(|at| words[at]);
    let head = filter.map_or(stop, |word| word.at);
    let list = |rows: &mut dyn Iterator<Item = &RowNumber>| {
        let numbers: Vec<String> = rows.map(i64::to_string).collect();
        format!("{alias}.rowid IN ({})", numbers.join(", "))
    };
    let mut condition = list(&mut chosen.rows.iter());
    if let Some(filter) = filter.filter(|_| chosen.checked) {
        condition.push_str(&format!(" AND ({})", sql[filter.end()..stop].trim()));
    }
    if let Some(extra) = chosen.extra {
        condition = format!("({condition}) OR {}", list(&mut std::iter::once(&extra)));
    }
    Some(format!(
        "{}main.{} WHERE {condition} {}",
        &sql[..target.at],
        sql[target.at..head].trim_end(),
        &sql[stop..]
    ))
}

/// The same INSERT without what it does about keys that are there: every row goes in.
pub(super) fn bare_insert(sql: &str) -> String {
    let words = tokens(sql);
    let conflict = words
        .windows(2)
        .find(|pair| pair[0].depth == 0 && pair[0].is("ON") && pair[1].is("CONFLICT"));
    let end = conflict.map_or(sql.len(), |pair| pair[0].at);
    let into = words.iter().find(|word| word.is("INTO"));
    let start = into.map_or(0, |word| word.at);
    format!("INSERT {}", &sql[start..end])
}

/// The same write, told to keep what it did before an error. None where it says itself what to do.
pub(super) fn or_fail(sql: &str) -> Option<String> {
    let words = tokens(sql);
    let verb = words
        .first()
        .filter(|word| word.is_any(&["INSERT", "UPDATE"]))?;
    let says = words.get(1).is_some_and(|second| second.is("OR"));
    (!says).then(|| format!("{} OR FAIL{}", verb.text, &sql[verb.end()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> BTreeSet<String> {
        ["t", "u"].map(str::to_owned).into()
    }

    fn reads(sql: &str) -> Vec<(String, Option<String>)> {
        let found = uses(sql, &known(), &BTreeSet::new());
        let text = |extent: Extent| match extent {
            Extent::Matching(condition) => Some(condition.text),
            Extent::Whole => None,
        };
        found.reads.into_iter().map(|(t, e)| (t, text(e))).collect()
    }

    #[test]
    fn a_statement_of_one_table_reads_by_its_condition() {
        let expected = vec![("t".to_owned(), Some("a = 1".to_owned()))];
        for sql in [
            "SELECT * FROM t WHERE a = 1",
            "SELECT x.a FROM t AS x WHERE a = 1 ORDER BY a LIMIT 1",
            "UPDATE t SET b = 2 WHERE a = 1",
            "DELETE FROM t WHERE a = 1",
            "INSERT INTO u (a) SELECT a FROM t WHERE a = 1",
            "SELECT * FROM t INDEXED BY \"i\" WHERE a = 1",
        ] {
            assert_eq!(reads(sql), expected, "{sql}");
        }
    }

    #[test]
    fn whatever_is_not_simple_is_read_whole() {
        let whole = |table: &str| (table.to_owned(), None);
        assert_eq!(reads("SELECT * FROM t"), [whole("t")]);
        assert_eq!(
            reads("SELECT * FROM t JOIN u ON t.a = u.a"),
            [whole("t"), whole("u")]
        );
        assert_eq!(
            reads("DELETE FROM t WHERE a IN (SELECT a FROM u)"),
            [whole("t"), whole("u")]
        );
        assert_eq!(
            reads("UPDATE t SET b = (SELECT MAX(a) FROM u) WHERE a = 1"),
            [("t".to_owned(), Some("a = 1".to_owned())), whole("u")]
        );
        assert_eq!(reads("INSERT INTO t VALUES (1)"), []);
        assert_eq!(
            reads("INSERT INTO t SELECT a FROM t WHERE a = 1"),
            [whole("t")]
        );
    }

    #[test]
    fn a_write_of_some_rows_keeps_its_condition_and_what_it_returns() {
        let rows = [2, 5].into();
        let mut chosen = ChosenRows {
            rows: &rows,
            checked: true,
            extra: None,
        };
        let text = |sql, chosen: &ChosenRows<'_>| of_rows(sql, &known(), Some(chosen));
        assert_eq!(
            text(
                "UPDATE t AS x SET a = 1 WHERE b = 2 OR c = 3 RETURNING x.a",
                &chosen
            )
            .as_deref(),
            Some(
                "UPDATE main.t AS x SET a = 1 WHERE x.rowid IN (2, 5) AND (b = 2 OR c = 3) RETURNING x.a"
            )
        );
        assert_eq!(
            text("DELETE FROM t", &chosen).as_deref(),
            Some("DELETE FROM main.t WHERE t.rowid IN (2, 5) ")
        );
        (chosen.checked, chosen.extra) = (false, Some(7));
        assert_eq!(
            text("UPDATE t SET a = 1 FROM u WHERE t.b = u.b", &chosen).as_deref(),
            Some("UPDATE main.t SET a = 1 FROM u WHERE (t.rowid IN (2, 5)) OR t.rowid IN (7) ")
        );
        assert_eq!(
            of_rows("INSERT INTO t SELECT * FROM t", &known(), None).as_deref(),
            Some("INSERT INTO main.t SELECT * FROM t")
        );
    }

    #[test]
    fn a_bare_insert_lets_every_row_in() {
        for sql in [
            "INSERT OR IGNORE INTO t VALUES (1)",
            "REPLACE INTO t VALUES (1)",
            "INSERT INTO t VALUES (1)ON CONFLICT (a) DO UPDATE SET b = 2",
        ] {
            assert_eq!(bare_insert(sql), "INSERT INTO t VALUES (1)", "{sql}");
        }
    }
}
