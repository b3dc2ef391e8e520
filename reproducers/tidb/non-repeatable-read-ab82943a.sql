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
--! anomaly = "non-repeatable-read"
--! oracle = "txcheck"
--! kind = "wrong-rows"
--! known = "unfiled:tidb-unistore-backward-scan"
--! seed = "41:96"
--! reproduced = "3/3"
--! signature = "ab82943a"
--! # T1.2 (select) at REPEATABLE READ: answered (4, 1.5); on the rows it should see it answers (4, 2.25)
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 DOUBLE NOT NULL);
/* init */ INSERT INTO t0 (pkey, c0) VALUES (4, 2.25);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ UPDATE t0 SET c0 = 1.5;       -- @got affected 1
/* s1 T1.2 */ SELECT * FROM t0 ORDER BY t0.pkey DESC; -- @got (4, 1.5)  @expect (4, 2.25)
/* s1 T1.3 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (4, 1.5)
