//! The lists of the safety check: what a file from elsewhere may say. In capitals.

/// What a statement may begin with.
pub(super) const FIRST_WORDS: &[&str] = &[
    "ALTER",
    "ANALYZE",
    "BEGIN",
    "CHECK",
    "COMMIT",
    "CREATE",
    "DELETE",
    "DESC",
    "DESCRIBE",
    "DO",
    "DROP",
    "END",
    "EXPLAIN",
    "INSERT",
    "LOCK",
    "OPTIMIZE",
    "PRAGMA",
    "REINDEX",
    "RELEASE",
    "RENAME",
    "REPLACE",
    "ROLLBACK",
    "SAVEPOINT",
    "SELECT",
    "SET",
    "SHOW",
    "START",
    "TABLE",
    "TRUNCATE",
    "UNLOCK",
    "UPDATE",
    "VALUES",
    "WITH",
    "(",
];

/// What may be created, altered, dropped or renamed.
pub(super) const OBJECTS: &[&str] = &["TABLE", "INDEX", "VIEW"];

/// Words that may stand between CREATE, ALTER, DROP and the object.
pub(super) const OBJECT_ADJECTIVES: &[&str] = &[
    "OR",
    "REPLACE",
    "TEMPORARY",
    "TEMP",
    "UNIQUE",
    "FULLTEXT",
    "SPATIAL",
    "ONLINE",
    "OFFLINE",
    "IGNORE",
    "ALGORITHM",
    "=",
    "MERGE",
    "TEMPTABLE",
    "UNDEFINED",
];

/// Session variables that a case may set.
pub(super) const VARIABLES: &[&str] = &[
    "AUTOCOMMIT",
    "BIG_TABLES",
    "CHARACTER_SET_CLIENT",
    "CHARACTER_SET_CONNECTION",
    "CHARACTER_SET_RESULTS",
    "COLLATION_CONNECTION",
    "COMPLETION_TYPE",
    "DEBUG_PARALLEL_QUERY",
    "DEFAULT_STORAGE_ENGINE",
    "DIV_PRECISION_INCREMENT",
    "ENABLE_BITMAPSCAN",
    "ENABLE_DISTINCT_REORDERING",
    "ENABLE_GROUP_BY_REORDERING",
    "ENABLE_HASHAGG",
    "ENABLE_HASHJOIN",
    "ENABLE_INCREMENTAL_SORT",
    "ENABLE_INDEXONLYSCAN",
    "ENABLE_INDEXSCAN",
    "ENABLE_MATERIAL",
    "ENABLE_MEMOIZE",
    "ENABLE_MERGEJOIN",
    "ENABLE_NESTLOOP",
    "ENABLE_PRESORTED_AGGREGATE",
    "ENABLE_SELF_JOIN_ELIMINATION",
    "ENABLE_SEQSCAN",
    "ENABLE_SORT",
    "ENABLE_TIDSCAN",
    "EQ_RANGE_INDEX_DIVE_LIMIT",
    "EXPENSIVE_SUBQUERY_LIMIT",
    "FORCE_PARALLEL_MODE",
    "FOREIGN_KEY_CHECKS",
    "GEQO_THRESHOLD",
    "GROUP_CONCAT_MAX_LEN",
    "INNODB_LOCK_WAIT_TIMEOUT",
    "INNODB_SNAPSHOT_ISOLATION",
    "INNODB_STRICT_MODE",
    "JOIN_BUFFER_SIZE",
    "JOIN_CACHE_LEVEL",
    "JOIN_COLLAPSE_LIMIT",
    "LOCK_WAIT_TIMEOUT",
    "MAX_HEAP_TABLE_SIZE",
    "MAX_LENGTH_FOR_SORT_DATA",
    "MAX_RECURSIVE_ITERATIONS",
    "MAX_SEEKS_FOR_KEY",
    "MRR_BUFFER_SIZE",
    "NAMES",
    "OPTIMIZER_PRUNE_LEVEL",
    "OPTIMIZER_SEARCH_DEPTH",
    "OPTIMIZER_SWITCH",
    "OPTIMIZER_USE_CONDITION_SELECTIVITY",
    "RANDOM_PAGE_COST",
    "READ_RND_BUFFER_SIZE",
    "SORT_BUFFER_SIZE",
    "SQL_MODE",
    "SQL_SAFE_UPDATES",
    "TIDB_DISABLE_TXN_AUTO_RETRY",
    "TIDB_PESSIMISTIC_TXN_FAIR_LOCKING",
    "TIDB_TXN_MODE",
    "TIME_ZONE",
    "TMP_TABLE_SIZE",
    "TRANSACTION_ISOLATION",
    "TX_ISOLATION",
    "UNIQUE_CHECKS",
    "WINDOWING_USE_HIGH_PRECISION",
    "WORK_MEM",
];

/// What SHOW may show.
pub(super) const SHOWN: &[&str] = &[
    "COUNT",
    "CREATE",
    "ERRORS",
    "STATUS",
    "VARIABLES",
    "WARNINGS",
];

/// Statements that name tables and no columns with a table before them: no dot has a place there.
pub(super) const WITHOUT_DOTS: &[&str] = &[
    "ALTER", "ANALYZE", "CHECK", "DROP", "LOCK", "OPTIMIZE", "REINDEX", "RENAME", "SHOW",
    "TRUNCATE",
];

/// PRAGMAs by which a connection chooses how its statements are carried out.
pub(super) const SESSION_PRAGMAS: &[&str] = &["AUTOMATIC_INDEX", "REVERSE_UNORDERED_SELECTS"];

/// PRAGMAs that only read.
pub(super) const PRAGMAS: &[&str] = &[
    "FOREIGN_KEY_CHECK",
    "FOREIGN_KEY_LIST",
    "INDEX_INFO",
    "INDEX_LIST",
    "INTEGRITY_CHECK",
    "QUICK_CHECK",
    "TABLE_INFO",
    "TABLE_LIST",
    "TABLE_XINFO",
];

/// Functions that reach outside of the database.
pub(super) const FUNCTIONS: &[&str] = &[
    "LOAD_FILE",
    "LOAD_EXTENSION",
    "READFILE",
    "WRITEFILE",
    "EDIT",
    "SYS_EXEC",
    "SYS_EVAL",
    "PG_READ_FILE",
    "PG_READ_BINARY_FILE",
    "PG_LS_DIR",
    "LO_IMPORT",
    "LO_EXPORT",
    "DBLINK",
    "PG_TERMINATE_BACKEND",
    "PG_RELOAD_CONF",
    "SET_CONFIG",
    "FTS3_TOKENIZER",
];

/// Words behind which a table's name stands, so that a dot there names another database.
pub(super) const BEFORE_TABLE: &[&str] = &[
    "FROM",
    "JOIN",
    "STRAIGHT_JOIN",
    "INTO",
    "UPDATE",
    "TABLE",
    "TABLES",
    "REFERENCES",
    "EXISTS",
    "LIKE",
    "RENAME",
    "TO",
    "VIEW",
    "INDEX",
];

/// Databases of the engines themselves: never named before a dot, as an alias neither.
pub(super) const SYSTEM: &[&str] = &[
    "MYSQL",
    "INFORMATION_SCHEMA",
    "PERFORMANCE_SCHEMA",
    "SYS",
    "PG_CATALOG",
    "METRICS_SCHEMA",
    "SQLITE_MASTER",
    "SQLITE_SCHEMA",
];
