//! The server variables by which an acknowledged commit survives a crash of the server.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A variable that has to have one of these values, or a crash of the server may cost commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DurableSetting {
    /// As the server names it.
    pub variable: String,
    /// The values that keep the promise, the usual one first; compared in any case.
    pub values: Vec<String>,
    /// A server without the variable keeps the promise.
    pub is_optional: bool,
}

impl DurableSetting {
    /// Whether a server with these settings keeps the promise.
    pub fn is_kept_by(&self, settings: &BTreeMap<String, String>) -> bool {
        settings
            .get(&self.variable)
            .map_or(self.is_optional, |found| {
                let mut values = self.values.iter();
                values.any(|value| value.eq_ignore_ascii_case(found))
            })
    }

    /// `fsync = on`: the usual way to keep the promise.
    pub fn remedy(&self) -> String {
        let value = self.values.first().map_or("", String::as_str);
        format!("{} = {value}", self.variable)
    }
}

/// An entry of a dialect file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DurabilityEntry {
    variable: String,
    values: Vec<String>,
    #[serde(default)]
    optional: bool,
    /// It counts on servers with these variables only.
    #[serde(default)]
    when: BTreeMap<String, String>,
}

/// The settings that count on a server for which `holds` is true of an entry's variables.
pub(super) fn durability(
    entries: Vec<DurabilityEntry>,
    holds: impl Fn(&BTreeMap<String, String>) -> bool,
) -> Vec<DurableSetting> {
    let entries = entries.into_iter().filter(|entry| holds(&entry.when));
    entries
        .map(|entry| DurableSetting {
            variable: entry.variable,
            values: entry.values,
            is_optional: entry.optional,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{Dialect, dialect_with};

    fn dialect(engine: &str, variables: &[(&str, &str)]) -> Dialect {
        dialect_with(engine, "10.11.0", variables)
    }

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(own).collect()
    }

    #[test]
    fn a_setting_that_acknowledges_before_it_writes_is_named_with_its_remedy() {
        let postgres = dialect("postgres", &[]);
        let mut settings = map(&[
            ("fsync", "on"),
            ("full_page_writes", "on"),
            ("synchronous_commit", "local"),
        ]);
        assert!(postgres.unkept(&settings).is_empty());
        settings.insert("synchronous_commit".to_owned(), "off".to_owned());
        let unkept: Vec<String> = postgres
            .unkept(&settings)
            .iter()
            .map(|s| s.remedy())
            .collect();
        assert_eq!(unkept, ["synchronous_commit = on"]);
    }

    #[test]
    fn a_variable_that_the_server_does_not_show_keeps_no_promise() {
        let mariadb = dialect("mariadb", &[]);
        let unkept: Vec<String> = mariadb
            .unkept(&BTreeMap::new())
            .iter()
            .map(|setting| setting.variable.clone())
            .collect();
        // Newer servers need not have innodb_flush_method.
        let needed = ["innodb_flush_log_at_trx_commit", "innodb_doublewrite"];
        assert_eq!(unkept, needed);
        let nosync = map(&[("innodb_flush_method", "nosync")]);
        assert_eq!(mariadb.unkept(&nosync).len(), 3);
        assert!(dialect("sqlite", &[]).durability.is_empty());
    }

    #[test]
    fn the_binary_log_counts_where_there_is_one() {
        for engine in ["mariadb", "mysql"] {
            let asked = |log: &str| {
                let dialect = dialect(engine, &[("log_bin", log)]);
                dialect.durability_variables().contains(&"sync_binlog")
            };
            assert!(asked("ON") && !asked("OFF"), "{engine}");
        }
    }
}
