--! format = 1
--! engine = "tidb"
--! seen_on = ["8.0.11-TiDB-v8.5.4-ac41d7e on unistore"]
--! variables = { autocommit = "ON", binlog_format = "STATEMENT", default_storage_engine = "InnoDB", innodb_lock_wait_timeout = "50", innodb_rollback_on_timeout = "0", sql_mode = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION", tidb_constraint_check_in_place = "OFF", tidb_disable_txn_auto_retry = "ON", tidb_enable_1pc = "OFF", tidb_enable_async_commit = "OFF", tidb_pessimistic_txn_fair_locking = "ON", tidb_txn_mode = "pessimistic", transaction_isolation = "REPEATABLE-READ", tx_isolation = "REPEATABLE-READ", version_comment = "TiDB Server (Apache License 2.0) Community Edition, MySQL 8.0 compatible" }
--! isolation = "REPEATABLE READ"
--! session_setup = [
--!   "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES'",
--!   "SET SESSION time_zone = '+00:00'",
--!   "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
--!   "SET SESSION autocommit = 1",
--!   "SET SESSION tidb_txn_mode = 'pessimistic'",
--!   "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
--! ]
--! anomaly = "internal-error"
--! oracle = "crash"
--! kind = "internal-error"
--! known = "unfiled:tidb-unistore-backward-scan"
--! seed = "21:165"
--! reproduced = "3/3"
--! signature = "8015e2f4"
--! # internal-error at T1.2 (select): error 8133: data inconsistency in table: t0, index: i_t1_0, index-count:1 != record-count:0
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 DOUBLE, c1 DOUBLE NOT NULL DEFAULT 2.25);
/* init */ CREATE INDEX i_t1_0 ON t0 (c1);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ INSERT INTO t0 (pkey, c1) VALUES (10, 0); -- @got affected 1
/* s1 T1.2 */ WITH q1 AS (SELECT t0.pkey, t0.c0 FROM t0 WHERE t0.c1 = 0) SELECT * FROM q1 ORDER BY q1.pkey DESC; -- @error internal
/* s1 T1.3 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (10, NULL, 0.0)
