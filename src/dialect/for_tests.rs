//! Dialects for tests of every layer, from the files that come with the program.

use super::{Dialect, builtin, parse_for};

/// The dialect of an engine at this version, the server's variables unknown.
pub(crate) fn dialect(engine: &str, version: &str) -> Dialect {
    dialect_with(engine, version, &[])
}

/// The same where the server has these variables.
pub(crate) fn dialect_with(engine: &str, version: &str, variables: &[(&str, &str)]) -> Dialect {
    let text = builtin(engine).expect("the engine has a file");
    let version = version.parse().expect("any text is a version");
    let variables = variables.iter();
    let variables = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    parse_for(engine, text, &version, &variables.collect())
        .unwrap_or_else(|error| panic!("{error}"))
}
