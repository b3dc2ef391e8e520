//! Every product that speaks MySQL's protocol, and which of them a server is.

use super::mariadb::MARIADB;
use super::mysql::MYSQL;
use super::product::{Product, SelfDescription};
use super::tidb::TIDB;
use crate::engine::error::EngineError;

/// Every product, in the order of the documentation.
pub(in crate::engine) const PRODUCTS: &[Product] = &[MYSQL, MARIADB, TIDB];

/// Refuses a server that is not the product its URL names: the dialect of another one would judge
/// its answers wrongly.
pub(super) fn check_product(asked: &Product, server: &SelfDescription) -> Result<(), EngineError> {
    if (asked.is_described_by)(server) {
        return Ok(());
    }
    let found = PRODUCTS
        .iter()
        .find(|product| (product.is_described_by)(server));
    let SelfDescription { version, comment } = server;
    Err(EngineError::Target(match found {
        Some(product) => format!(
            "the server is {version}, not {}: write {}:// in the target",
            asked.name, product.name
        ),
        None => format!(
            "the server calls itself {version:?} ({comment}), which is no version of {}: its \
             transactions may follow other rules, and {}'s dialect would judge them wrongly; name a \
             server of one of {}",
            asked.name,
            asked.name,
            names()
        ),
    }))
}

/// `mysql, mariadb, tidb`.
fn names() -> String {
    let names: Vec<&str> = PRODUCTS.iter().map(|product| product.name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(asked: &Product, version: &str, comment: &str) -> Option<String> {
        let server = SelfDescription {
            version: version.to_owned(),
            comment: comment.to_owned(),
        };
        check_product(asked, &server)
            .err()
            .map(|error| error.to_string())
    }

    #[test]
    fn a_server_of_the_other_product_names_the_url_to_write() {
        let mariadb = ("10.11.18-MariaDB", "mariadb.org binary distribution");
        let mysql = ("9.7.0", "MySQL Community Server - GPL");
        assert_eq!(refusal(&MARIADB, mariadb.0, mariadb.1), None);
        assert_eq!(refusal(&MYSQL, mysql.0, mysql.1), None);
        let other = refusal(&MYSQL, mariadb.0, mariadb.1).expect("refused");
        assert!(other.ends_with("write mariadb:// in the target"), "{other}");
        let other = refusal(&MARIADB, mysql.0, mysql.1).expect("refused");
        assert!(other.ends_with("write mysql:// in the target"), "{other}");
    }

    #[test]
    fn tidb_is_named_by_its_own_url() {
        let tidb = ("8.0.11-TiDB-v8.5.4", "TiDB Server (Apache License 2.0)");
        assert_eq!(refusal(&TIDB, tidb.0, tidb.1), None);
        for asked in [&MYSQL, &MARIADB] {
            let refusal = refusal(asked, tidb.0, tidb.1).expect("refused");
            assert!(
                refusal.ends_with("write tidb:// in the target"),
                "{refusal}"
            );
        }
        let mysql = refusal(&TIDB, "9.7.0", "MySQL Community Server - GPL").expect("refused");
        assert!(mysql.ends_with("write mysql:// in the target"), "{mysql}");
    }

    #[test]
    fn a_server_of_no_known_product_is_refused_by_its_own_words() {
        for asked in PRODUCTS {
            let refusal =
                refusal(asked, "8.0.30-Vitess", "ServerVersion: 20.0.0").expect("refused");
            assert!(refusal.contains("8.0.30-Vitess"), "{refusal}");
            let remedy = format!("name a server of one of {}", names());
            assert!(refusal.ends_with(&remedy), "{refusal}");
        }
    }

    #[test]
    fn every_self_description_is_of_one_product_at_most() {
        for version in [
            "5.6.51",
            "9.7.0",
            "5.5.5-10.5.29-MariaDB",
            "8.0.11-TiDB-v8.5.0",
        ] {
            let server = SelfDescription {
                version: version.to_owned(),
                comment: String::new(),
            };
            let takers = PRODUCTS
                .iter()
                .filter(|product| (product.is_described_by)(&server));
            assert!(takers.count() <= 1, "{version}");
        }
    }
}
