--! format = 1
--! engine = "mysql"
--! seen_on = ["9.7.4-2"]
--! variables = { autocommit = "ON", binlog_format = "ROW", default_storage_engine = "InnoDB", innodb_lock_wait_timeout = "10", innodb_rollback_on_timeout = "OFF", log_bin = "OFF", sql_mode = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION", transaction_isolation = "REPEATABLE-READ", version_comment = "(Debian)" }
--! isolation = "REPEATABLE READ"
--! session_setup = [
--!   "SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES'",
--!   "SET SESSION time_zone = '+00:00'",
--!   "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
--!   "SET SESSION autocommit = 1",
--!   "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
--! ]
--! anomaly = "wrong-count"
--! oracle = "txcheck"
--! kind = "wrong-affected"
--! known = "unfiled:mysql-hypergraph-not-in-null"
--! reproduced = "10/10"
--! signature = "355e39af"
--! # T3.1 (update) at REPEATABLE READ: affected differ: got affected 1; on the rows it should see: affected 0
--! # T3.1, effect: expected t0: (23, 4, 'b'), got t0: (23, 1001, 'b')
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 TEXT);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (23, 4, 'b');
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ INSERT INTO t0 (pkey, vkey) VALUES (0, 1005), (1, 1006); -- @got affected 2
/* s1 T1.3 */ ROLLBACK;
/* s1 T2.1 */ SET SESSION optimizer_switch = 'hypergraph_optimizer=on';
/* s1 T3.1 */ UPDATE t0 SET vkey = 1001 WHERE pkey NOT IN (0, NULL); -- @got affected 1  @expect affected 0
/* end */ SELECT * FROM t0;                 -- @got (23, 1001, 'b')
