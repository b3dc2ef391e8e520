//! Cases for tests, read from our own format: what a test runs stands in it as a person writes it.

use super::reader::read;
use crate::dialect::Dialect;
use crate::model::TestCase;

/// The case of this text, which may leave out the format and, for REPEATABLE READ, the level.
pub(crate) fn case(text: &str, dialect: &Dialect) -> TestCase {
    let level = if text.contains("--! isolation") {
        ""
    } else {
        "--! isolation = \"REPEATABLE READ\"\n"
    };
    let text = format!("--! format = 1\n{level}{text}");
    let file = read(&text, "test.sql").unwrap_or_else(|error| panic!("{error}\n{text}"));
    file.test_case(dialect)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}
