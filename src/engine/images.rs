//! Container images that run a server: what each is given so that we can log in, and where it listens.

use std::collections::BTreeMap;

/// An image of a product, without its tag: that is the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerImage {
    /// The engine, as URLs name it.
    pub engine: &'static str,
    /// The image's repository on the Docker Hub.
    pub repository: &'static str,
    /// What has its account connect from anywhere without a password. The image's page on the Docker Hub.
    pub environment: &'static [&'static str],
    pub account: &'static str,
    /// The port that the server listens on inside.
    pub port: u16,
    /// Its server takes the variables of a case file as options ([`ServerImage::options`]).
    takes_variables: bool,
}

pub const MARIADB_IMAGE: ServerImage = ServerImage {
    engine: "mariadb",
    repository: "mariadb",
    environment: &["MARIADB_ALLOW_EMPTY_ROOT_PASSWORD=1", "MARIADB_ROOT_HOST=%"],
    account: "root",
    port: 3306,
    takes_variables: true,
};

pub const MYSQL_IMAGE: ServerImage = ServerImage {
    engine: "mysql",
    repository: "mysql",
    environment: &["MYSQL_ALLOW_EMPTY_PASSWORD=1", "MYSQL_ROOT_HOST=%"],
    account: "root",
    port: 3306,
    takes_variables: true,
};

pub const POSTGRES_IMAGE: ServerImage = ServerImage {
    engine: "postgres",
    repository: "postgres",
    environment: &["POSTGRES_HOST_AUTH_METHOD=trust"],
    account: "postgres",
    port: 5432,
    takes_variables: false,
};

const TIDB_IMAGE: ServerImage = ServerImage {
    engine: "tidb",
    repository: "pingcap/tidb",
    environment: &[],
    account: "root",
    port: 4000,
    takes_variables: false,
};

/// Every image that a server can be started from.
pub const SERVER_IMAGES: &[ServerImage] = &[MARIADB_IMAGE, MYSQL_IMAGE, POSTGRES_IMAGE, TIDB_IMAGE];

/// Variables that are options of the server, too; a version that does not know one passes over it.
const LOOSE: &[&str] = &["innodb_snapshot_isolation", "innodb_rollback_on_timeout"];

impl ServerImage {
    /// The options that give the server those of a case file's variables that answers depend on.
    pub fn options(&self, variables: &BTreeMap<String, String>) -> Vec<String> {
        if !self.takes_variables {
            return Vec::new();
        }
        let value = |name: &str| variables.get(name).map(String::as_str);
        let mut options = Vec::new();
        match value("log_bin") {
            Some("OFF" | "0") => options.push("--skip-log-bin".to_owned()),
            Some(_) => options.extend(["--log-bin", "--server-id=1"].map(str::to_owned)),
            None => {}
        }
        for name in LOOSE {
            let plain = |value: &&str| value.chars().all(|c| c.is_ascii_alphanumeric());
            if let Some(value) = value(name).filter(plain) {
                options.push(format!("--loose-{}={value}", name.replace('_', "-")));
            }
        }
        options
    }

    /// The URL of the server of a container whose port is at this port of the loopback address.
    pub fn url(&self, port: u16) -> String {
        format!("{}://{}@127.0.0.1:{port}", self.engine, self.account)
    }
}
