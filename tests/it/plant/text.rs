//! As much of a statement's text as planting needs: its words outside literals, their depth in
//! parentheses, and what is cut out of it or added.

use super::WriteKind;

/// A word of a statement.
pub(super) struct Word {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Parentheses open around it.
    pub(super) depth: u32,
    /// In capitals.
    pub(super) text: String,
}

/// The words outside of literals, quoted names and comments, in order.
pub(super) fn words(sql: &str) -> Vec<Word> {
    let bytes = sql.as_bytes();
    let (mut words, mut depth, mut at) = (Vec::new(), 0_u32, 0);
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    while at < bytes.len() {
        let start = at;
        at += 1;
        match bytes[start] {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            quote @ (b'\'' | b'"' | b'`') => {
                // Sessions of cases run without backslash escapes.
                while at < bytes.len() && bytes[at] != quote {
                    at += 1;
                }
                at += 1;
            }
            b'/' if bytes.get(at) == Some(&b'*') => {
                at = sql[at..].find("*/").map_or(bytes.len(), |end| at + end + 2);
            }
            byte if is_word(byte) => {
                while at < bytes.len() && is_word(bytes[at]) {
                    at += 1;
                }
                words.push(Word {
                    start,
                    end: at,
                    depth,
                    text: sql[start..at].to_ascii_uppercase(),
                });
            }
            _ => {}
        }
    }
    words
}

/// The first word, in capitals.
pub(super) fn verb(sql: &str) -> String {
    words(sql)
        .into_iter()
        .next()
        .map_or_else(String::new, |word| word.text)
}

/// Whether it is a SELECT that takes no locks of rows.
pub(super) fn is_plain_read(sql: &str) -> bool {
    verb(sql) == "SELECT" && without_lock_clause(sql).is_none()
}

/// A write and its RETURNING clause, which is empty where it has none.
pub(super) fn at_returning(sql: &str) -> (&str, &str) {
    let words = words(sql);
    let at = position(&words, &["RETURNING"]).map_or(sql.len(), |place| words[place].start);
    sql.split_at(at)
}

/// The INSERT of several rows without the last one; None for any other statement.
pub(super) fn without_last_row(sql: &str) -> Option<String> {
    let words = words(sql);
    let values = position(&words, &["VALUES"])?;
    let end = [
        &["RETURNING"][..],
        &["ON", "CONFLICT"],
        &["ON", "DUPLICATE"],
    ]
    .into_iter()
    .filter_map(|behind| position(&words, behind))
    .map(|place| words[place].start)
    .min()
    .unwrap_or(sql.len());
    let start = words[values].end;
    let cut = commas(&sql[start..end]).last().map(|place| start + place);
    cut.map(|cut| {
        format!("{} {}", &sql[..cut], &sql[end..])
            .trim_end()
            .to_owned()
    })
}

/// The kind of a write; None for any other statement.
pub(super) fn write_kind(sql: &str) -> Option<WriteKind> {
    let words = words(sql);
    let has = |wanted: &str| words.iter().any(|word| word.text == wanted);
    match words.first()?.text.as_str() {
        "UPDATE" => Some(WriteKind::Update),
        "DELETE" => Some(WriteKind::Delete),
        "REPLACE" => Some(WriteKind::Replace),
        "INSERT" if has("DUPLICATE") || has("CONFLICT") => Some(WriteKind::Upsert),
        "INSERT"
            if words
                .iter()
                .any(|word| word.text == "SELECT" && word.depth == 0) =>
        {
            Some(WriteKind::InsertSelect)
        }
        "INSERT" => Some(WriteKind::Insert),
        _ => None,
    }
}

/// Words in a row, at depth 0, from some word on.
pub(super) fn position(words: &[Word], wanted: &[&str]) -> Option<usize> {
    words.windows(wanted.len()).position(|window| {
        let mut pairs = window.iter().zip(wanted);
        pairs.all(|(word, text)| word.depth == 0 && word.text == *text)
    })
}

/// Whether one of these words stands at depth 0.
pub(super) fn has_any(words: &[Word], wanted: &[&str]) -> bool {
    let mut top = words.iter().filter(|word| word.depth == 0);
    top.any(|word| wanted.contains(&word.text.as_str()))
}

/// Where the commas are outside of parentheses and literals.
pub(super) fn commas(text: &str) -> Vec<usize> {
    let (mut depth, mut quoted, mut commas) = (0_u32, false, Vec::new());
    for (place, c) in text.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => commas.push(place),
            _ => {}
        }
    }
    commas
}

/// The SELECT without its lock clause; None for any other statement.
pub(super) fn without_lock_clause(sql: &str) -> Option<String> {
    let words = words(sql);
    if words.first()?.text != "SELECT" {
        return None;
    }
    let clauses: [&[&str]; 5] = [
        &["FOR", "UPDATE"],
        &["FOR", "NO", "KEY", "UPDATE"],
        &["FOR", "SHARE"],
        &["FOR", "KEY", "SHARE"],
        &["LOCK", "IN", "SHARE", "MODE"],
    ];
    let place = clauses.iter().find_map(|clause| position(&words, clause))?;
    Some(sql[..words[place].start].trim_end().to_owned())
}

/// Whether it may wait for a row. A workload's sessions run again what is refused, and a fault at each try
/// would show nothing more: its table `kv` is left out.
pub(super) fn may_wait(sql: &str) -> bool {
    !is_of_workload(sql) && (write_kind(sql).is_some() || without_lock_clause(sql).is_some())
}

/// Whether it is about the table of a workload.
pub(super) fn is_of_workload(sql: &str) -> bool {
    sql.contains("kv")
}

/// The name and the text of a statement that is prepared.
pub(super) fn prepared_text(sql: &str) -> Option<(String, String)> {
    let (name, text) = sql.strip_prefix("PREPARE ")?.split_once(' ')?;
    // PostgreSQL has the statement itself there.
    if let Some(statement) = text.strip_prefix("AS ") {
        return Some((name.to_owned(), statement.to_owned()));
    }
    let quoted = text.strip_prefix("FROM '")?.strip_suffix('\'')?;
    Some((name.to_owned(), quoted.replace("''", "'")))
}

/// The name of the prepared statement that is executed.
pub(super) fn executed_name(sql: &str) -> Option<&str> {
    sql.strip_prefix("EXECUTE ")
}

/// The SELECT without its ORDER BY, where that is the last of it.
pub(super) fn without_order(sql: &str) -> Option<String> {
    let words = words(sql);
    let place = position(&words, &["ORDER", "BY"])?;
    let is_last = !has_any(&words, &["LIMIT", "OFFSET"]);
    is_last.then(|| sql[..words[place].start].trim_end().to_owned())
}

/// A write of rows of one table by a predicate.
pub(super) struct WriteByPredicate {
    /// Up to and with WHERE.
    head: String,
    predicate: String,
    /// What it returns, with a space before it.
    tail: String,
}

impl WriteByPredicate {
    /// None for a join, a LIMIT, a table alias that a rewriting would lose, or no predicate.
    pub(super) fn of(sql: &str) -> Option<Self> {
        let words = words(sql);
        let kind = write_kind(sql)?;
        let one_table = matches!(kind, WriteKind::Update | WriteKind::Delete)
            && !has_any(&words, &["LIMIT", "ORDER", "JOIN", "USING"]);
        let place = position(&words, &["WHERE"])?;
        let end = words[place].end;
        let before_set = position(&words, &["SET"]).map_or(end, |set| words[set].start);
        let lists_tables = sql[..before_set].contains(',');
        let joins = kind == WriteKind::Update && position(&words, &["FROM"]).is_some();
        let (write, returning) = at_returning(sql);
        (one_table && !lists_tables && !joins).then(|| Self {
            head: sql[..end].to_owned(),
            predicate: write[end..].trim().trim_end_matches(';').to_owned(),
            tail: format!(" {returning}").trim_end().to_owned(),
        })
    }

    /// The same for at most this many rows.
    pub(super) fn limited(&self, rows: u64) -> String {
        format!("{} {} LIMIT {rows}", self.head, self.predicate)
    }

    /// Its table; None where that has another name in it.
    pub(super) fn table(&self) -> Option<&str> {
        let words = words(&self.head);
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        let table = match texts.as_slice() {
            ["UPDATE", _, "SET", ..] => &words[1],
            ["DELETE", "FROM", _, "WHERE"] => &words[2],
            _ => return None,
        };
        Some(&self.head[table.start..table.end])
    }

    /// A plain reading of the keys that it chooses; None where its table has another name in it.
    pub(super) fn keys(&self) -> Option<String> {
        let table = self.table()?;
        Some(format!("SELECT pkey FROM {table} WHERE {}", self.predicate))
    }

    /// The same of the rows with these keys.
    pub(super) fn of_keys(&self, keys: &[String]) -> String {
        let Self { head, tail, .. } = self;
        match keys {
            [] => format!("{head} FALSE{tail}"),
            _ => format!("{head} pkey IN ({}){tail}", keys.join(", ")),
        }
    }

    /// The same for one row that the predicate does not choose, in SQL without LIMIT in writes; None where
    /// its table has another name in it.
    pub(super) fn beyond_by_key(&self) -> Option<String> {
        let keys = self.keys()?;
        let chosen = keys.len() - self.predicate.len();
        let (before, predicate) = keys.split_at(chosen);
        Some(format!(
            "{} pkey = ({before}({predicate}) IS NOT TRUE LIMIT 1)",
            self.head
        ))
    }

    /// The same for one row that the predicate does not choose.
    pub(super) fn beyond(&self) -> String {
        format!("{} ({}) IS NOT TRUE LIMIT 1", self.head, self.predicate)
    }
}

/// What a statement about savepoints does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SavepointStep {
    Set(String),
    RollbackTo(String),
    Release(String),
}

/// Names compare without regard to case.
pub(super) fn savepoint_step(sql: &str) -> Option<SavepointStep> {
    let words: Vec<String> = sql
        .trim_end_matches(';')
        .split_whitespace()
        .map(|word| word.trim_matches('`').to_ascii_uppercase())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["SAVEPOINT", name] => Some(SavepointStep::Set((*name).to_owned())),
        ["RELEASE", "SAVEPOINT", name] => Some(SavepointStep::Release((*name).to_owned())),
        ["ROLLBACK", .., "TO", "SAVEPOINT", name] | ["ROLLBACK", .., "TO", name] => {
            Some(SavepointStep::RollbackTo((*name).to_owned()))
        }
        _ => None,
    }
}

#[test]
fn statements_are_told_apart_outside_literals_and_parentheses() {
    let kinds = [
        ("UPDATE t SET a = 'WHERE' WHERE b", WriteKind::Update),
        (
            "INSERT INTO t VALUES ((SELECT 1), 'SELECT')",
            WriteKind::Insert,
        ),
        ("INSERT INTO t (a) SELECT 1", WriteKind::InsertSelect),
        (
            "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 2",
            WriteKind::Upsert,
        ),
        ("REPLACE INTO t VALUES (1)", WriteKind::Replace),
        ("delete from t", WriteKind::Delete),
    ];
    for (sql, kind) in kinds {
        assert_eq!(write_kind(sql), Some(kind), "{sql}");
    }
    assert_eq!(write_kind("SELECT 'UPDATE'"), None);
}

#[test]
fn the_last_row_of_an_insert_is_cut_off_outside_of_literals() {
    let sql = "INSERT INTO t (a, b) VALUES (1, '),('), (COALESCE(2, 3), 'x')";
    let fewer = without_last_row(sql);
    assert_eq!(
        fewer.as_deref(),
        Some("INSERT INTO t (a, b) VALUES (1, '),(')")
    );
    assert_eq!(without_last_row("INSERT INTO t VALUES (1, 2)"), None);
    assert_eq!(without_last_row("SELECT 1, 2"), None);
}

#[test]
fn prepared_statements_are_read_and_executed_by_name() {
    let prepared = prepared_text("PREPARE p1 FROM 'SELECT ''a'' FROM t'").expect("one");
    assert_eq!(prepared, ("p1".to_owned(), "SELECT 'a' FROM t".to_owned()));
    assert_eq!(executed_name("EXECUTE p1"), Some("p1"));
    assert_eq!(prepared_text("SELECT 1"), None);
}

#[test]
fn what_is_rewritten_stays_a_statement() {
    let plain = without_lock_clause("SELECT 'FOR UPDATE' FROM t FOR UPDATE SKIP LOCKED");
    assert_eq!(plain.as_deref(), Some("SELECT 'FOR UPDATE' FROM t"));
    assert_eq!(without_lock_clause("SELECT 1 FROM t"), None);
    let unsorted = without_order("SELECT (SELECT 1 ORDER BY 1) FROM t ORDER BY a DESC");
    let select = "SELECT (SELECT 1 ORDER BY 1) FROM t";
    assert_eq!(unsorted.as_deref(), Some(select));
    assert_eq!(without_order("SELECT 1 FROM t ORDER BY a LIMIT 1"), None);
    let write =
        WriteByPredicate::of("UPDATE t SET a = (SELECT 1 LIMIT 1) WHERE b OR c").expect("one");
    assert_eq!(
        write.beyond(),
        "UPDATE t SET a = (SELECT 1 LIMIT 1) WHERE (b OR c) IS NOT TRUE LIMIT 1"
    );
    assert_eq!(
        write.keys().as_deref(),
        Some("SELECT pkey FROM t WHERE b OR c")
    );
    let keys = ["1".to_owned(), "2".to_owned()];
    assert_eq!(
        write.of_keys(&keys),
        "UPDATE t SET a = (SELECT 1 LIMIT 1) WHERE pkey IN (1, 2)"
    );
    let renamed = WriteByPredicate::of("UPDATE t AS u SET a = 1 WHERE b").expect("one");
    assert_eq!(renamed.keys(), None);
    assert!(WriteByPredicate::of("UPDATE t, u SET a = 1 WHERE b").is_none());
    assert!(WriteByPredicate::of("DELETE FROM t WHERE b LIMIT 1").is_none());
    let step = savepoint_step("ROLLBACK TO SAVEPOINT `s1`;");
    assert_eq!(step, Some(SavepointStep::RollbackTo("S1".to_owned())));
    assert_eq!(savepoint_step("ROLLBACK"), None);
}

/// The statement with BINARY before every `t1.x0` or `r2.x1` that an operator follows, but in a SET list.
pub(super) fn compared_by_bytes(sql: &str) -> String {
    let start = sql.find(" WHERE ").unwrap_or(sql.len());
    let (before, condition) = sql.split_at(start);
    let mut text = before.to_owned();
    let mut words = condition.split_inclusive(' ').peekable();
    while let Some(word) = words.next() {
        let name = word.trim_end_matches(' ');
        let is_extra = name.ends_with(".x0") || name.ends_with(".x1");
        let operators = ["= ", "<> ", "> ", "< ", ">= ", "<= ", "IN "];
        let compares = words.peek().is_some_and(|next| operators.contains(next));
        let (opening, name) = word.split_at(word.len() - word.trim_start_matches('(').len());
        if is_extra && compares {
            text.push_str(&format!("{opening}BINARY {name}"));
        } else {
            text.push_str(word);
        }
    }
    text
}
