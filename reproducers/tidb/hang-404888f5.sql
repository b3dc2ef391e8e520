--! format = 1
--! engine = "tidb"
--! seen_on = ["8.0.11-TiDB-v8.5.4-ac41d7e on unistore"]
--! variables = { autocommit = "ON", binlog_format = "STATEMENT", default_storage_engine = "InnoDB", innodb_lock_wait_timeout = "50", innodb_rollback_on_timeout = "0", sql_mode = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION", tidb_constraint_check_in_place = "OFF", tidb_disable_txn_auto_retry = "ON", tidb_enable_1pc = "OFF", tidb_enable_async_commit = "OFF", tidb_pessimistic_txn_fair_locking = "ON", tidb_txn_mode = "pessimistic", transaction_isolation = "REPEATABLE-READ", tx_isolation = "REPEATABLE-READ", version_comment = "TiDB Server (Apache License 2.0) Community Edition, MySQL 8.0 compatible" }
--! isolation = "READ COMMITTED"
--! session_setup = [
--!   "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES'",
--!   "SET SESSION time_zone = '+00:00'",
--!   "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
--!   "SET SESSION autocommit = 1",
--!   "SET SESSION tidb_txn_mode = 'pessimistic'",
--!   "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
--! ]
--! anomaly = "hang"
--! oracle = "crash"
--! kind = "hang"
--! known = "unfiled:tidb-endless-backward-scan"
--! reproduced = "3/3"
--! signature = "404888f5"
--! # hang at T1.3 (select): no answer within 20 s to "SELECT MAX(t.c0) FROM t WHERE t.c0 IN (20, 21) AND t.pkey > 5"
/* init */ CREATE TABLE t (pkey INT NOT NULL PRIMARY KEY, c0 INT, c1 INT);
/* init */ CREATE INDEX i ON t (c0);
/* init */ INSERT INTO t (pkey, c0, c1) VALUES (2, 20, 0), (3, 21, 0), (4, 41, 0);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t SET c1 = 1 WHERE pkey = 4; -- @got affected 1
/* s1 T1.3 */ SELECT MAX(t.c0) FROM t WHERE t.c0 IN (20, 21) AND t.pkey > 5;
/* s1 T1.4 */ ROLLBACK;
