//! The products whose maintainers read an export: what they call things and where they take reports.

use crate::engine::{self, ServerImage};

/// How a client reaches the product, in steps by hand and in scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientKind {
    /// Clients of a server that change to a database by `USE`.
    MySql,
    /// Clients of a server that change to a database by psql's `\c`.
    Psql,
    /// Shells on one file.
    Sqlite,
}

/// The driver by which a Python script talks to the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScriptDriver {
    /// Clients of a server; a statement may wait for a lock.
    MySqlProtocol,
    /// The same of PostgreSQL.
    Postgres,
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
    pub(super) clients: ClientKind,
    /// Or why there is no script for it.
    pub(super) driver: Result<ScriptDriver, &'static str>,
    /// Where a report goes.
    pub(super) tracker: &'static str,
    /// The fields of the tracker's form that are the same for every case: name and value.
    pub(super) fields: &'static [(&'static str, &'static str)],
    /// What the form calls the list of versions.
    pub(super) versions: &'static str,
    /// The command line client.
    pub(super) client: &'static str,
    /// The headings of a report's main parts.
    pub(super) headings: IssueHeadings,
    /// What else to try before a report is filed; none where nothing else could tell.
    pub(super) to_try: Option<&'static str>,
    /// The port that its server listens on unless it is told another; 0 where there is none.
    pub(super) port: u16,
    /// Asks a server whether the connection `%d` waits for a lock: a row where it does.
    pub(super) waits: &'static str,
    /// Ends the connection `%d`. TiDB ignores a KILL without its name, unless it is told that there is one server (TiDB
    /// manual, "KILL").
    pub(super) kill: &'static str,
    /// Whether mysqltest is its test suite.
    pub(super) has_mysqltest: bool,
    /// At REPEATABLE READ and above it may refuse what takes a lock on a row that changed after the snapshot (MariaDB manual,
    /// `innodb_snapshot_isolation`).
    pub(super) refuses_newer_rows: bool,
    /// Whether its tests are written in Go, with its testkit.
    pub(super) has_testkit: bool,
    /// How the product's own test suite says that a test needs InnoDB; none where it always has it.
    pub(super) innodb_include: Option<&'static str>,
    /// The image of its server, or why a script cannot run one.
    pub(super) image: Result<ServerImage, &'static str>,
}

/// The headings of a report's main parts, as the tracker's form has them.
#[derive(Debug)]
pub(super) struct IssueHeadings {
    pub(super) repeat: &'static str,
    pub(super) actual: &'static str,
    pub(super) expected: &'static str,
    /// The form asks for what was expected before it asks for what came.
    pub(super) expected_first: bool,
}

impl IssueHeadings {
    const PLAIN: Self = Self {
        repeat: "How to repeat",
        actual: "Actual result",
        expected: "Expected result",
        expected_first: false,
    };
}

/// By InnoDB's own table, and by the process list for locks of metadata.
const WAITS_OF_INNODB: &str = "SELECT p.id FROM information_schema.processlist p \
     LEFT JOIN information_schema.innodb_trx x ON x.trx_mysql_thread_id = p.id \
     WHERE p.id = %d AND (x.trx_state = 'LOCK WAIT' OR p.state LIKE 'Waiting for %%')";

const OTHER_PRODUCTS: &str = "The same steps were tried on the other products that use InnoDB.";

const ALL: &[Maintainers] = &[
    Maintainers {
        engine: "mariadb",
        product: "MariaDB",
        clients: ClientKind::MySql,
        driver: Ok(ScriptDriver::MySqlProtocol),
        tracker: "https://jira.mariadb.org, project MDEV",
        fields: &[
            ("Type", "Bug"),
            ("Component", "Storage Engine - InnoDB"),
            ("Priority", "left to the maintainers"),
        ],
        versions: "Affects Version/s",
        client: "mariadb",
        headings: IssueHeadings::PLAIN,
        to_try: Some(OTHER_PRODUCTS),
        port: 3306,
        waits: WAITS_OF_INNODB,
        kill: "KILL %d",
        has_mysqltest: true,
        refuses_newer_rows: true,
        has_testkit: false,
        innodb_include: Some("include/have_innodb.inc"),
        image: Ok(engine::MARIADB_IMAGE),
    },
    Maintainers {
        engine: "mysql",
        product: "MySQL",
        clients: ClientKind::MySql,
        driver: Ok(ScriptDriver::MySqlProtocol),
        tracker: "https://bugs.mysql.com",
        fields: &[("Category", "MySQL Server: InnoDB storage engine")],
        versions: "Version",
        client: "mysql",
        headings: IssueHeadings::PLAIN,
        to_try: Some(OTHER_PRODUCTS),
        port: 3306,
        waits: WAITS_OF_INNODB,
        kill: "KILL %d",
        has_mysqltest: true,
        refuses_newer_rows: false,
        has_testkit: false,
        innodb_include: None,
        image: Ok(engine::MYSQL_IMAGE),
    },
    Maintainers {
        engine: "postgres",
        product: "PostgreSQL",
        clients: ClientKind::Psql,
        driver: Ok(ScriptDriver::Postgres),
        tracker: "https://www.postgresql.org/account/submitbug, or pgsql-bugs@lists.postgresql.org",
        fields: &[],
        versions: "PostgreSQL version (SELECT version())",
        client: "psql",
        headings: IssueHeadings::PLAIN,
        to_try: Some(
            "The configuration that was changed from its defaults is named, and the exact steps from the \
             start of the program.",
        ),
        port: 5432,
        waits: "SELECT 1 WHERE cardinality(pg_blocking_pids(%d)) > 0",
        kill: "SELECT pg_terminate_backend(%d)",
        has_mysqltest: false,
        refuses_newer_rows: false,
        has_testkit: false,
        innodb_include: None,
        image: Ok(engine::POSTGRES_IMAGE),
    },
    Maintainers {
        engine: "sqlite",
        product: "SQLite",
        clients: ClientKind::Sqlite,
        driver: Ok(ScriptDriver::Sqlite),
        tracker: "https://sqlite.org/forum",
        fields: &[],
        versions: "Version",
        client: "sqlite3",
        headings: IssueHeadings::PLAIN,
        to_try: None,
        port: 0,
        waits: "",
        kill: "",
        has_mysqltest: false,
        refuses_newer_rows: false,
        has_testkit: false,
        innodb_include: None,
        image: Err("SQLite has no server that an image could run"),
    },
    Maintainers {
        engine: "tidb",
        product: "TiDB",
        clients: ClientKind::MySql,
        driver: Ok(ScriptDriver::MySqlProtocol),
        tracker: "https://github.com/pingcap/tidb/issues",
        fields: &[("Form", "Bug Report"), ("Label", "type/bug")],
        versions: "What is your TiDB version? (SELECT tidb_version())",
        client: "mysql",
        headings: IssueHeadings {
            repeat: "1. Minimal reproduce step (Required)",
            actual: "3. What did you see instead (Required)",
            expected: "2. What did you expect to see? (Required)",
            expected_first: true,
        },
        to_try: Some(
            "The same steps were tried on a cluster with TiKV, where the version above ends in another \
             store: that one may be at fault.",
        ),
        port: 4000,
        waits: "SELECT SESSION_ID FROM information_schema.TIDB_TRX \
                WHERE SESSION_ID = %d AND STATE = 'LockWaiting'",
        kill: "KILL TIDB %d",
        has_mysqltest: false,
        refuses_newer_rows: false,
        has_testkit: true,
        innodb_include: None,
        image: Err("TiDB's image has no client by which a script could tell that its server is up"),
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
