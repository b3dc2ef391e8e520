//! The products whose maintainers read an export: what they call things and where they take reports.

/// The protocol of the product's driver, which decides how a script talks to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScriptDriver {
    /// Clients of a server; a statement may wait for a lock.
    MySqlProtocol,
    /// A library in the script's own process; a held lock is an error at once.
    Sqlite,
}

/// One product and where its maintainers take reports.
#[derive(Debug)]
pub(super) struct Maintainers {
    /// As URLs and case files name the engine.
    pub(super) engine: &'static str,
    /// As its makers write it.
    pub(super) product: &'static str,
    pub(super) driver: ScriptDriver,
    /// Where a report goes.
    pub(super) tracker: &'static str,
    /// The fields of the tracker's form that are the same for every case: name and value.
    pub(super) fields: &'static [(&'static str, &'static str)],
    /// What the form calls the list of versions.
    pub(super) versions: &'static str,
    /// The command line client.
    pub(super) client: &'static str,
    /// How the product's own test suite says that a test needs InnoDB; none where it always has it.
    pub(super) innodb_include: Option<&'static str>,
    /// The image of its server, where it has one.
    pub(super) image: Option<ServerImage>,
}

/// A container image that runs a server.
#[derive(Debug)]
pub(super) struct ServerImage {
    /// Without its tag: that is the version.
    pub(super) name: &'static str,
    /// What has its root account connect from anywhere without a password.
    pub(super) environment: &'static [&'static str],
}

const ALL: &[Maintainers] = &[
    Maintainers {
        engine: "mariadb",
        product: "MariaDB",
        driver: ScriptDriver::MySqlProtocol,
        tracker: "https://jira.mariadb.org, project MDEV",
        fields: &[
            ("Type", "Bug"),
            ("Component", "Storage Engine - InnoDB"),
            ("Priority", "left to the maintainers"),
        ],
        versions: "Affects Version/s",
        client: "mariadb",
        innodb_include: Some("include/have_innodb.inc"),
        image: Some(ServerImage {
            name: "mariadb",
            environment: &["MARIADB_ALLOW_EMPTY_ROOT_PASSWORD=1", "MARIADB_ROOT_HOST=%"],
        }),
    },
    Maintainers {
        engine: "mysql",
        product: "MySQL",
        driver: ScriptDriver::MySqlProtocol,
        tracker: "https://bugs.mysql.com",
        fields: &[("Category", "MySQL Server: InnoDB storage engine")],
        versions: "Version",
        client: "mysql",
        innodb_include: None,
        image: Some(ServerImage {
            name: "mysql",
            environment: &["MYSQL_ALLOW_EMPTY_PASSWORD=1", "MYSQL_ROOT_HOST=%"],
        }),
    },
    Maintainers {
        engine: "sqlite",
        product: "SQLite",
        driver: ScriptDriver::Sqlite,
        tracker: "https://sqlite.org/forum",
        fields: &[],
        versions: "Version",
        client: "sqlite3",
        innodb_include: None,
        image: None,
    },
];

/// The maintainers of the engine that a case file names.
pub(super) fn of_engine(engine: &str) -> Option<&'static Maintainers> {
    ALL.iter().find(|maintainers| maintainers.engine == engine)
}

/// The engines whose cases can be exported for their maintainers, with commas between.
pub(super) fn engines() -> String {
    let names: Vec<&str> = ALL.iter().map(|maintainers| maintainers.engine).collect();
    names.join(", ")
}
