//! Reading and writing are inverse; errors name their place.

use proptest::prelude::*;

use super::*;
use crate::model::{IsolationLevel, SessionId, Value};

/// The example of `docs/reproducer-format.md`, in canonical form.
const EXAMPLE: &str = r#"--! format = 1
--! engine = "mariadb"                      # a comment; everything here is for people to edit
--! seen_on = ["10.11.18-MariaDB", "11.8.6-MariaDB"]
--! variables = { innodb_snapshot_isolation = "OFF", log_bin = "0" }
--! # a whole line
--! isolation = "READ COMMITTED"            # or { s1 = "READ COMMITTED", s2 = "SERIALIZABLE" }
--! claim = "READ COMMITTED"                # only where a stronger level was claimed than run
--! session_setup = [
--!   "SET SESSION sql_mode = 'ANSI'",
--!   "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
--! ]                                       # what every session executed first
--! oracle = "troc"
--! kind = "wrong-final-state"
--! known = "MySQL#104833"                  # when a registered behaviour explains it
--! seed = "9f3c:412"                       # run seed : case index
--! reproduced = "10/10"
--! signature = "7a1c0e22"
--! # the last line
-- the tables
/* init */ CREATE TABLE t (a INT, b INT);
/* init */ INSERT INTO t VALUES (NULL, 1), (2, 2), (NULL, 3);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t SET a = 10;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ UPDATE t SET b = 20 WHERE a;  -- @snapshot-read SELECT 1 FROM t  @blocks s1
/* s1 T1.3 */ COMMIT;                       -- of no row  @resumes s2  @mine is kept, 'as @it' stands
/* s2 */ COMMIT;
/* end */ SELECT * FROM t
  -- a comment; with a semicolon
  WHERE ';' <> '''' AND "a;" <> `b;` /* ; */ AND 5--3 > 1;
/* end */ SELECT * FROM t;                  -- @got (10, 1) (10, 20) (10, 20)  @expect (10, 20) (10, 20) (10, 20)
-- the end
"#;

#[test]
fn the_canonical_text_comes_back_byte_by_byte() {
    let file = read(EXAMPLE, "example.sql").unwrap();
    assert_eq!(write(&file), EXAMPLE);
    assert_eq!(file.lines.len(), 10);
    assert_eq!(file.lines[0].comments, ["the tables"]);
    assert_eq!(file.lines[6].remark, "of no row");
    assert_eq!(file.lines[6].notes.len(), 2);
    assert_eq!(file.lines[5].line, 25);
    let number = |line: usize| file.lines[line].number.map(|id| id.to_string());
    assert_eq!(number(5).as_deref(), Some("T2.2"));
    assert_eq!(number(7), None);
    assert_eq!(file.lines[9].expectations().len(), 1);
}

#[test]
fn a_hand_typed_file_needs_a_format_a_level_and_tags() {
    let text = "--! format = 1\r\n--!isolation='repeatable-read'\r\n\r\n\
                /* init */ CREATE TABLE t (a INT); /* s1 */ SELECT *\r\n FROM t ; -- all\r\n\
                # why\r\n/*s2*/SELECT 2 -- two\r\n;\r\n  -- @expect (2)\r\n";
    let file = read(text, "hand.sql").unwrap();
    let expected = "--! format = 1\n--! isolation = \"REPEATABLE READ\"\n\
                    /* init */ CREATE TABLE t (a INT);\n/* s1 */ SELECT *\n FROM t;";
    assert!(write(&file).starts_with(expected), "{}", write(&file));
    assert_eq!(file.lines[1].remark, "all");
    assert_eq!(file.lines[2].comments, ["why"]);
    assert_eq!(file.lines[2].sql, "SELECT 2");
    assert_eq!(file.lines[2].notes, [Note::new("expect", "(2)")]);
}

/// Reading fails, and the error begins so.
fn check(text: &str, expected: &str) {
    let error = read(text, "x.sql").unwrap_err().to_string();
    assert!(
        error.starts_with(expected),
        "got {error}\nexpected {expected}"
    );
}

#[test]
fn header_errors_name_file_line_and_column() {
    check("", "x.sql:1:1: expected a header");
    check("/* s1 */ SELECT 1;", "x.sql:1:1: expected a header");
    check(
        "--! isolation = \"SERIALIZABLE\"",
        "x.sql:1:5: in the header: missing field `format`",
    );
    check(
        "--! format = 1\n/* s1 */ SELECT 1;",
        "x.sql:1:5: in the header: missing field `isolation`",
    );
    check(
        "--! format = 2\n--! isolation = \"SERIALIZABLE\"",
        "x.sql:1:14: format 2",
    );
    check(
        "--! format = 1\n--! isolation = \"SNAPSHOT\"",
        "x.sql:2:17: unknown isolation level",
    );
    check(
        "--! format = 1\n\n--! colour = 1\n",
        "x.sql:3:5: in the header: unknown field `colour`",
    );
    check(
        "--! format = 1\n--! engine = \n",
        "x.sql:2:14: in the header:",
    );
    check(
        "--! format = 1\n--! isolation = { t1 = \"SERIALIZABLE\" }",
        "x.sql:2:17: \"t1\" is no session",
    );
    check(
        "--! format = 1\n--! isolation = \"SERIALIZABLE\"\n--! pace = \"fast\"",
        "x.sql:3:12: expected \"scheduled\" or \"free\"",
    );
    check(
        "--! format = 1\n--! isolation = \"SERIALIZABLE\"\n--! session_setup = { t1 = [] }",
        "x.sql:3:21: \"t1\" is no session",
    );
    check(
        "--! format = 1\n--! isolation = \"SERIALIZABLE\"\n--! session_setup = \"SET\"",
        "x.sql:3:21: in the header: a list of statements",
    );
    check(
        "--! format = 1\n--! isolation = { s2 = \"SERIALIZABLE\" }\n/* s1 */ SELECT 1;",
        "x.sql:3:1: the header's isolation gives no level for s1",
    );
}

#[test]
fn statement_errors_name_the_place_and_what_was_expected() {
    let with = |body: &str| format!("--! format = 1\n--! isolation = \"SERIALIZABLE\"\n{body}");
    check(&with(""), "x.sql:1:1: expected a statement of a session");
    check(&with("SELECT 1;"), "x.sql:3:1: expected a session tag");
    check(
        &with("/* s1 */ SELECT 1; SELECT 2;"),
        "x.sql:3:20: expected a session tag",
    );
    check(&with("/* t1 */ SELECT 1;"), "x.sql:3:1: unknown tag \"t1\"");
    for tag in ["s1 T1", "s1 T01.1", "s1 T0.1", "s1 1.1", "s1 T1.2 x"] {
        check(
            &with(&format!("/* {tag} */ SELECT 1;")),
            &format!(
                "x.sql:3:1: in the tag {tag:?}: expected the number of a statement, such as T1.2"
            ),
        );
    }
    check(&with("/* end T1.1 */ SELECT 1;"), "x.sql:3:1: unknown tag");
    check(
        &with("/* s01 */ SELECT 1;"),
        "x.sql:3:1: unknown tag \"s01\"",
    );
    check(&with("/*!50000 s1 */ SELECT 1;"), "x.sql:3:1: unknown tag");
    check(
        &with("/* s1 */ SELECT 1"),
        "x.sql:3:10: expected ; at the end",
    );
    check(
        &with("/* s1 */ SELECT 'a;\n"),
        "x.sql:3:17: expected an end of this '",
    );
    check(&with("/* s1 */ ;"), "x.sql:3:10: expected a statement");
    for tag in ["/* s1 */", "/* s2 T3.1 */", "/*end*/", "/* S1 */"] {
        check(
            &with(&format!("/* s1 */ BEGIN\n  {tag} SELECT 1;")),
            &format!(
                "x.sql:4:3: the statement that begins in line 3 has no semicolon before this tag \
                 {tag}: end that statement with ;"
            ),
        );
    }
    check(&with("/* s1 "), "x.sql:3:1: expected */");
    check(
        &with("/* s1 */ SELECT 1; -- @expect 5"),
        "x.sql:3:31: in @expect: expected rows",
    );
    check(
        &with("/* s1 */ SELECT 1; -- @expect (5, a)"),
        "x.sql:3:35: in @expect: expected NULL",
    );
    check(
        &with("/* s1 */ SELECT 1; -- @error bad"),
        "x.sql:3:30: in @error: expected an error class",
    );
    check(
        &with("/* s1 */ SELECT 1; -- @blocks x"),
        "x.sql:3:31: in @blocks:",
    );
    check(
        &with("/* s1 */ SELECT 1;\n/* init */ SELECT 2;"),
        "x.sql:4:12: a statement of init behind one of s1",
    );
    check(
        &with("/* s1 */ SELECT 1;\n--! seed = \"1:1\""),
        "x.sql:4:4: a header line",
    );
    check(
        &with("/* s1 */ SELECT 1;").replace("1;", "1; --! x"),
        "x.sql:3:23: a header line",
    );
}

#[test]
fn an_expected_cell_is_met_by_any_type_of_that_value_and_by_no_other() {
    let expectation = |text| note::expectation(text).unwrap();
    let rows = |values: Vec<Value>| crate::model::Outcome::Rows(vec![values]);
    let meets = |text, value| expectation(text).meets(&rows(vec![value]), false);
    assert!(meets("(1.50)", Value::Decimal("1.5".to_owned())));
    assert!(meets("(1.5)", Value::Real(1.5)));
    assert!(meets("(-0)", Value::Integer(0)));
    assert!(meets("('1')", Value::Text("1".to_owned())));
    assert!(meets("('it''s')", Value::Text("it's".to_owned())));
    assert!(meets("(X'0aFF')", Value::Bytes(vec![10, 255])));
    assert!(meets("(NULL)", Value::Null));
    assert!(!meets("('NULL')", Value::Null));
    assert!(!meets("(NULL)", Value::Integer(0)));
    assert!(!meets("(1)", Value::Integer(2)));
    assert!(!meets("(1, 1)", Value::Integer(1)));
    assert!(!meets("empty", Value::Integer(1)));
    assert!(expectation("empty").meets(&crate::model::Outcome::Rows(vec![]), false));
    assert!(!expectation("empty").meets(&crate::model::Outcome::Affected(0), false));
    assert!(expectation("affected 0").meets(&crate::model::Outcome::Affected(0), false));
    let two = crate::model::Outcome::Rows(vec![vec![Value::Integer(2)], vec![Value::Integer(1)]]);
    assert!(expectation("(1) (2)").meets(&two, false));
    assert!(!expectation("(1) (1)").meets(&two, false));
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::Integer),
        any::<u64>().prop_map(Value::Unsigned),
        any::<f64>().prop_map(Value::Real),
        "-?[0-9]{1,5}\\.[0-9]{1,3}".prop_map(Value::Decimal),
        any::<String>().prop_map(Value::Text),
        any::<Vec<u8>>().prop_map(Value::Bytes),
        "[0-9]{4}-[0-9]{2}-[0-9]{2}".prop_map(Value::Temporal),
    ]
}

fn line() -> impl Strategy<Value = (String, String, Vec<Value>)> {
    let sql = "[a-z(][a-z0-9 ,=\n]{0,20}(`[^`\r]{0,4}`)?('[^'\r]{0,6}')?";
    (
        sql,
        "[a-z ']{0,8}",
        proptest::collection::vec(value(), 1..4),
    )
}

fn file() -> impl Strategy<Value = CaseFile> {
    let text = proptest::option::of(any::<String>());
    (
        proptest::collection::vec(line(), 1..6),
        text.clone(),
        text,
        proptest::collection::btree_map("[a-z.]{1,6}", any::<String>(), 0..3),
        "[^\r\n\\p{Cc}]{0,20}",
    )
        .prop_map(|(lines, engine, seed, variables, comment)| {
            let level = IsolationLevel::RepeatableRead;
            let mut header = Header::new(Isolation::All(level));
            (header.engine, header.seed, header.variables) = (engine, seed, variables);
            let comment = comment.trim().to_owned();
            let behind = &mut header.comments.behind;
            behind.insert("isolation".to_owned(), comment.clone());
            header.comments.last.push(comment);
            let lines = lines
                .into_iter()
                .map(|(sql, remark, row)| {
                    let mut line = CaseLine::new(Tag::Session(SessionId(1)), sql.trim());
                    line.remark = remark.trim().to_owned();
                    let rows = crate::model::Outcome::Rows(vec![row]);
                    line.notes.push(Note::outcome(&rows));
                    line
                })
                .collect();
            CaseFile {
                header,
                lines,
                last_comments: Vec::new(),
            }
        })
}

/// What a comment behind it made no comment is none when that is gone.
#[test]
fn a_sign_before_the_semicolon_begins_no_comment() {
    for sql in ["#", "--", "SELECT 1 #"] {
        let header = "--! format = 1\n--! isolation = \"SERIALIZABLE\"\n";
        let text = format!("{header}/* s1 */ {sql}/* behind */;\n");
        let once = write(&read(&text, "x.sql").unwrap());
        assert!(once.ends_with(&format!("/* s1 */ {sql};\n")), "{once}");
        assert_eq!(read(&once, "x.sql").map(|file| write(&file)), Ok(once));
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(file in file()) {
        let text = write(&file);
        let mut back = read(&text, "x.sql").unwrap();
        back.lines.iter_mut().for_each(|line| line.line = 0);
        prop_assert_eq!(&back, &file, "{}", text);
        prop_assert_eq!(write(&back), text);
    }

    #[test]
    fn a_noted_result_is_met_by_itself(row in proptest::collection::vec(value(), 1..4)) {
        let outcome = crate::model::Outcome::Rows(vec![row]);
        let expectation = note::expectation(&Note::outcome(&outcome).text).unwrap();
        prop_assert!(expectation.meets(&outcome, false), "{} {:?}", expectation, outcome);
    }

    #[test]
    fn any_text_is_read_or_refused_and_writing_is_idempotent(
        body in "(/\\* (s1|init|end) \\*/|[ -~\n]| -- | @expect |;|'|--!|#|\\PC){0,60}"
    ) {
        let header = "--! format = 1\n--! isolation = \"SERIALIZABLE\"\n/* s1 */ SELECT 1;\n";
        if let Ok(file) = read(&format!("{header}{body}"), "x.sql") {
            let once = write(&file);
            let again = read(&once, "x.sql").map(|file| write(&file));
            prop_assert_eq!(again.as_ref(), Ok(&once));
        }
    }
}
