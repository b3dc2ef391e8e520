//! A case file that came from elsewhere is untrusted: only statements that stay inside the case's
//! own database are run. What is not on the list is refused, with its line.

mod token;
mod trigger;
mod words;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::dialect::{Dialect, GenericDialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::Parser;

use super::CaseFile;
use crate::statement::{SyntaxNode, walk};
use token::{Token, one_of, split_at_commas, tokens};
use words::{
    BEFORE_TABLE, FIRST_WORDS, FUNCTIONS, OBJECT_ADJECTIVES, OBJECTS, PRAGMAS, SESSION_PRAGMAS,
    SHOWN, SYSTEM, VARIABLES, WITHOUT_DOTS,
};

/// A statement that a file from elsewhere may not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: refused: {reason}; --trust runs the file as it is")]
pub struct Refusal {
    pub line: usize,
    pub reason: String,
}

/// Checks every statement of a file.
///
/// # Errors
/// The first statement that is not on the list, with the reason.
pub fn check(file: &CaseFile) -> Result<(), Refusal> {
    for line in &file.lines {
        statement(&line.sql).map_err(|reason| Refusal {
            line: line.line,
            reason,
        })?;
    }
    Ok(())
}

/// Whether one statement is on the list; why not otherwise.
fn statement(sql: &str) -> Result<(), String> {
    if sql.contains('\0') {
        return Err("a zero byte in a statement".to_owned());
    }
    if let Some(parts) = trigger::parts(sql)? {
        statement(&parts.table)?;
        return statement(&parts.body);
    }
    let tokens = tokens(sql)?;
    let Some(first) = tokens.first() else {
        return Err("an empty statement".to_owned());
    };
    if !one_of(first, FIRST_WORDS) {
        let word = first.identifier().unwrap_or("this");
        return Err(format!(
            "{word} is not on the list of statements that stay inside a case"
        ));
    }
    let rest = &tokens[1..];
    match first.identifier().unwrap_or_default() {
        "SET" => set(rest)?,
        "PRAGMA" => pragma(rest)?,
        "CREATE" | "ALTER" | "DROP" | "RENAME" => object(rest)?,
        "SHOW" if !rest.first().is_some_and(|token| one_of(token, SHOWN)) => {
            return Err("this SHOW is not on the list of those about the case".to_owned());
        }
        "VACUUM" if rest.iter().any(|token| token.is("INTO")) => {
            return Err("VACUUM INTO writes a file".to_owned());
        }
        "COMMIT" | "ROLLBACK" if disconnects(rest) => {
            return Err("RELEASE here closes the connection".to_owned());
        }
        "START" if !rest.first().is_some_and(|token| token.is("TRANSACTION")) => {
            return Err("START of anything but a transaction".to_owned());
        }
        _ => {}
    }
    anywhere(&tokens)?;
    dotted(&tokens)?;
    relations(sql)
}

/// Whether a COMMIT or ROLLBACK ends its session, too; not RELEASE of a savepoint, which stands elsewhere.
fn disconnects(rest: &[Token]) -> bool {
    let at = rest.iter().position(|token| token.is("RELEASE"));
    at.is_some_and(|at| at == 0 || !rest[at - 1].is("NO"))
}

/// What no statement may hold at any place.
fn anywhere(tokens: &[Token]) -> Result<(), String> {
    for (index, token) in tokens.iter().enumerate() {
        let next = tokens.get(index + 1);
        if one_of(
            token,
            &[
                "OUTFILE", "DUMPFILE", "SONAME", "INFILE", "ATTACH", "PROGRAM",
            ],
        ) && tokens[..index].last().is_none_or(|t| !t.is("."))
        {
            if next.is_some_and(|next| next.is("PARTITION")) {
                return Err("a table that becomes a partition has rows in two tables".to_owned());
            }
            let word = token.identifier().unwrap_or_default();
            return Err(format!("{word} reaches outside of the database"));
        }
        let called = next.is_some_and(|next| next.is("("));
        if token.is(";") {
            return Err("two statements behind one tag".to_owned());
        }
        let name = token.identifier().unwrap_or_default();
        if called && FUNCTIONS.contains(&name) {
            return Err(format!(
                "the function {name} reaches outside of the database"
            ));
        }
        let directory = token.is("DIRECTORY") && index > 0;
        if directory && one_of(&tokens[index - 1], &["DATA", "INDEX"]) {
            return Err("a table's folder is not the case's to choose".to_owned());
        }
        if one_of(token, &["CONNECTION", "TABLESPACE"]) && tokens[0].is("CREATE") {
            return Err("a table outside of the case's database".to_owned());
        }
        let engine = token.is("ENGINE") || token.is("USING");
        let value = tokens[index + 1..].iter().find(|token| !token.is("="));
        let foreign = [
            "FEDERATED",
            "CONNECT",
            "CSV",
            "SPIDER",
            "S3",
            "MERGE",
            "MRG_MYISAM",
        ];
        if engine
            && value
                .and_then(Token::identifier)
                .is_some_and(|v| foreign.contains(&v))
        {
            return Err("a storage engine that reaches outside of the database".to_owned());
        }
    }
    Ok(())
}

/// SET: the isolation level, names, and listed variables of the session.
fn set(rest: &[Token]) -> Result<(), String> {
    let global = [
        "GLOBAL",
        "PERSIST",
        "PERSIST_ONLY",
        "PASSWORD",
        "ROLE",
        "DEFAULT",
        "RESOURCE",
    ];
    if let Some(token) = rest.iter().find(|token| one_of(token, &global[..3])) {
        let word = token.identifier().unwrap_or_default();
        return Err(format!("SET {word} changes the whole server"));
    }
    let scoped = |token: &Token| one_of(token, &["SESSION", "LOCAL"]);
    let skip = usize::from(rest.first().is_some_and(scoped));
    let rest = &rest[skip..];
    if rest
        .first()
        .is_some_and(|token| one_of(token, &["TRANSACTION", "NAMES"]))
    {
        return Ok(());
    }
    for assignment in split_at_commas(rest) {
        let name = assignment
            .iter()
            .skip_while(|t| scoped(t) || t.is("@") || t.is("."))
            .find_map(Token::identifier)
            .unwrap_or_default();
        let user_variable = assignment.first().is_some_and(|t| t.is("@"))
            && assignment.get(1).is_some_and(|t| !t.is("@"));
        let assigned = assignment.iter().any(|t| one_of(t, &["=", "TO"]));
        if user_variable || (assigned && VARIABLES.contains(&name)) {
            continue;
        }
        return Err(format!("SET {name} is not on the list of session settings"));
    }
    Ok(())
}

fn pragma(rest: &[Token]) -> Result<(), String> {
    let name = rest.first().and_then(Token::identifier).unwrap_or_default();
    if SESSION_PRAGMAS.contains(&name) {
        return Ok(());
    }
    if !PRAGMAS.contains(&name) || rest.iter().any(|token| token.is("=") || token.is(".")) {
        return Err(format!(
            "PRAGMA {name} is not on the list of those that only read"
        ));
    }
    Ok(())
}

fn object(rest: &[Token]) -> Result<(), String> {
    let what = rest
        .iter()
        .find(|token| !one_of(token, OBJECT_ADJECTIVES))
        .cloned()
        .unwrap_or(Token::Text);
    if one_of(&what, OBJECTS) {
        return Ok(());
    }
    let word = what.identifier().unwrap_or("this").to_owned();
    Err(format!("{word} is no table, index or view"))
}

/// A name with a dot where a table stands, and every name with two dots.
fn dotted(tokens: &[Token]) -> Result<(), String> {
    let dot = |index: usize| tokens.get(index).is_some_and(|token| token.is("."));
    let creates_index =
        tokens[0].is("CREATE") && tokens.iter().take(4).any(|token| token.is("INDEX"));
    let without_dots = one_of(&tokens[0], WITHOUT_DOTS) || creates_index;
    for (index, token) in tokens.iter().enumerate() {
        let Some(name) = token.identifier() else {
            continue;
        };
        if !dot(index + 1) || name.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let before = index.checked_sub(1).and_then(|index| tokens.get(index));
        let other = SYSTEM.contains(&name)
            || dot(index + 3)
            || without_dots
            || before.is_some_and(|token| one_of(token, BEFORE_TABLE));
        if other {
            return Err(format!(
                "{}.{} names another database",
                name.to_lowercase(),
                tokens
                    .get(index + 2)
                    .and_then(Token::identifier)
                    .unwrap_or("*")
                    .to_lowercase()
            ));
        }
    }
    let hidden = tokens
        .iter()
        .filter_map(Token::identifier)
        .any(|name| name.starts_with("__RASHOMON"));
    if hidden {
        return Err("a table of Rashomon's own".to_owned());
    }
    Ok(())
}

/// Every table that a parser finds has a plain name. A statement that no parser reads has passed
/// the checks of its words; then no name with a dot may follow a comma either, where a list of
/// tables would hide it.
fn relations(sql: &str) -> Result<(), String> {
    let dialects: [&dyn Dialect; 4] = [
        &MySqlDialect {},
        &SQLiteDialect {},
        &PostgreSqlDialect {},
        &GenericDialect {},
    ];
    let mut parsed = false;
    // Lock clauses that no parser reads name no table.
    let plain = without_lock_clause(sql)
        .replace("FOR NO KEY UPDATE", "FOR UPDATE")
        .replace("FOR KEY SHARE", "FOR SHARE");
    for dialect in dialects {
        let Ok(statements) = Parser::parse_sql(dialect, &plain) else {
            continue;
        };
        parsed = true;
        if statements.len() > 1 {
            return Err("two statements behind one tag".to_owned());
        }
        let mut names = BTreeSet::new();
        let _ = walk(&statements, &mut |node| {
            if let SyntaxNode::Relation(name) = node
                && name.0.len() > 1
            {
                names.insert(name.to_string());
            }
            ControlFlow::Continue(())
        });
        if let Some(name) = names.first() {
            return Err(format!("{name} names another database"));
        }
    }
    if parsed {
        return Ok(());
    }
    let tokens = tokens(sql)?;
    for window in tokens.windows(3) {
        if window[0].is(",") && window[1].identifier().is_some() && window[2].is(".") {
            return Err("a name with a dot in a statement that cannot be read".to_owned());
        }
    }
    Ok(())
}

/// The statement without the one lock clause that no parser reads.
fn without_lock_clause(sql: &str) -> &str {
    const CLAUSE: &str = "LOCK IN SHARE MODE";
    let sql = sql.trim_end();
    let at = sql.len().saturating_sub(CLAUSE.len());
    match sql.get(at..) {
        Some(tail) if tail.eq_ignore_ascii_case(CLAUSE) => &sql[..at],
        _ => sql,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{self, BUILTIN, ServerVersion};

    #[test]
    fn what_a_case_needs_is_let_through() {
        for sql in [
            "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(10) DEFAULT 'x.y') ENGINE=InnoDB",
            "CREATE UNIQUE INDEX i ON t (a DESC)",
            "create view v as select a, b from t",
            "INSERT INTO t VALUES (1, 1.5), (-1, .5)",
            "INSERT INTO t (a) SELECT t.a FROM t, u WHERE t.a = u.b",
            "UPDATE t, u SET t.a = u.b WHERE t.a = 1.5",
            "DELETE t FROM t JOIN u ON t.a = u.b",
            "SELECT t.a, u.* FROM t JOIN u ON t.a = u.b, w LOCK IN SHARE MODE",
            "WITH c AS (SELECT 1) SELECT c.a FROM c",
            "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
            "SET innodb_snapshot_isolation=ON",
            "SET @@session.sql_mode = '', @@autocommit = 0",
            "SET @a = (SELECT 1), @b = 2",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT",
            "BEGIN IMMEDIATE",
            "ROLLBACK TO SAVEPOINT a",
            "PRAGMA integrity_check",
            "CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW INSERT INTO u VALUES (NEW.a, OLD.b)",
            "CREATE TRIGGER g BEFORE UPDATE ON t FOR EACH ROW SET NEW.a = OLD.a + 1",
            "CREATE TRIGGER g AFTER DELETE ON t FOR EACH ROW BEGIN DELETE FROM u WHERE a = OLD.a; END",
            "CREATE TRIGGER g AFTER DELETE ON t BEGIN DELETE FROM u WHERE a = OLD.a; END",
            "SELECT outfile FROM t WHERE a = 'INTO OUTFILE'",
        ] {
            if sql.contains("SELECT outfile") {
                assert!(
                    statement(sql).is_err(),
                    "refused rather than understood: {sql}"
                );
            } else {
                assert_eq!(statement(sql), Ok(()), "{sql}");
            }
        }
    }

    #[test]
    fn what_the_generator_sets_in_a_session_runs() {
        for (name, text) in BUILTIN {
            let newest = ServerVersion(vec![99]);
            for version in [newest, ServerVersion(vec![13])] {
                let dialect =
                    dialect::parse(name, text, &version).expect("built-in dialects parse");
                for setting in &dialect.plan_settings {
                    let sql = dialect.set_variable(&setting.variable, &setting.values[0]);
                    assert_eq!(statement(&sql), Ok(()), "{sql}");
                }
            }
        }
    }

    #[test]
    fn what_leaves_the_case_is_refused() {
        for sql in [
            "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t",
            "SELECT * INTO OUTFILE '/tmp/x' FROM t",
            "SELECT * FROM t INTO DUMPFILE '/tmp/x'",
            "SELECT LOAD_FILE('/etc/passwd')",
            "SET GLOBAL innodb_lock_wait_timeout = 1",
            "SET @@GLOBAL.read_only = 1",
            "set persist max_connections = 1",
            "SET SESSION sql_mode = '', GLOBAL read_only = 1",
            "SET PASSWORD = 'x'",
            "SET ROLE admin",
            "SET sql_log_bin = 0",
            "CREATE USER x",
            "DROP DATABASE d",
            "CREATE SCHEMA d",
            "ALTER USER x",
            "GRANT ALL ON *.* TO x",
            "INSTALL PLUGIN x SONAME 'x.so'",
            "CREATE FUNCTION f RETURNS INT SONAME 'x.so'",
            "SHUTDOWN",
            "KILL 1",
            "USE mysql",
            "CALL p()",
            "PREPARE s FROM 'DROP DATABASE d'",
            "SELECT * FROM mysql.user",
            "SELECT * FROM `mysql` . `user`",
            "SELECT * FROM t, other.u",
            "SELECT * FROM t AS mysql, mysql.user",
            "INSERT INTO other.t VALUES (1)",
            "UPDATE t, other.u SET t.a = 1",
            "DELETE FROM other.t",
            "DROP TABLE IF EXISTS other.t",
            "DROP TABLE t, other.t",
            "LOCK TABLES t READ, other.t WRITE",
            "CREATE INDEX i ON other.t (a)",
            "SHOW GRANTS",
            "SHOW TABLES FROM mysql",
            "SELECT other.t.a FROM t",
            "SELECT * FROM t LOCK IN SHARE MODE; DROP TABLE t",
            "SELECT * FROM t, other.u LOCK IN SHARE MODE",
            "CREATE TABLE t (a INT REFERENCES other.t (a))",
            "CREATE TABLE t LIKE other.t",
            "CREATE TABLE t (a INT) DATA DIRECTORY = '/tmp'",
            "CREATE TABLE t (a INT) ENGINE=FEDERATED CONNECTION='mysql://x'",
            "CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW SET @a = 1",
            "CREATE TRIGGER x AFTER INSERT ON other.t FOR EACH ROW DELETE FROM u",
            "CREATE TRIGGER x AFTER INSERT ON t FOR EACH ROW DELETE FROM other.u",
            "CREATE TRIGGER x AFTER INSERT ON t FOR EACH ROW CALL p()",
            "CREATE TRIGGER x AFTER INSERT ON t FOR EACH ROW BEGIN DELETE FROM u; DELETE FROM t; END",
            "CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM u; DELETE FROM t; END",
            "CREATE TRIGGER x AFTER INSERT ON t WHEN 1 BEGIN DELETE FROM u; END",
            "CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM other.u; END",
            "CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW SET NEW.a = LOAD_FILE('x')",
            "CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1, GLOBAL read_only = 1",
            "CREATE DEFINER = root@localhost TRIGGER x AFTER INSERT ON t FOR EACH ROW DELETE FROM u",
            "ATTACH 'x.db' AS x",
            "VACUUM INTO 'x.db'",
            "PRAGMA journal_mode = DELETE",
            "PRAGMA writable_schema(1)",
            "SELECT 1 /*!50000 INTO OUTFILE '/tmp/x' */",
            "SELECT load_extension('x')",
            "DELETE FROM __rashomon_marker",
            "COPY t TO PROGRAM 'sh'",
            "SELECT 1 # '\n INTO OUTFILE '/tmp/x' # '",
            "SELECT 1--'\n INTO OUTFILE '/tmp/x' --'",
            "SELECT '\\' INTO OUTFILE '/tmp/x'",
        ] {
            assert!(statement(sql).is_err(), "let through: {sql}");
        }
    }
}
