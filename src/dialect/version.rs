//! Server versions, compared number by number.

use std::fmt;
use std::str::FromStr;

/// The leading numbers of a version: `10.11.18-MariaDB-log` is 10.11.18.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerVersion(pub Vec<u32>);

impl FromStr for ServerVersion {
    type Err = std::convert::Infallible;

    /// Takes what is a dotted number at the start; anything else is version 0.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers: String = text
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == '.')
            .collect();
        Ok(Self(
            numbers
                .split('.')
                .map_while(|part| part.parse().ok())
                .collect(),
        ))
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&parts.join("."))
    }
}
