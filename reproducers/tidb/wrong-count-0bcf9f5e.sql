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
--! anomaly = "wrong-count"
--! oracle = "txcheck"
--! kind = "wrong-affected"
--! known = "unfiled:tidb-absent-key-list"
--! reproduced = "3/3"
--! signature = "0bcf9f5e"
--! # T1.3 (update) at READ COMMITTED: answered affected 0; on the rows it should see it answers affected 1
--! # T1.3, effect: expected t0: (1, 1001), got t0: (1, 1000)
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ DELETE FROM t0 WHERE t0.pkey = 1; -- @got affected 0
/* s2 T2.1 */ INSERT INTO t0 (pkey, vkey) VALUES (1, 1000); -- @got affected 1
/* s1 T1.3 */ UPDATE t0 SET vkey = 1001 WHERE t0.pkey IN (1); -- @got affected 0  @expect affected 1
/* s1 T1.4 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (1, 1000)
