--! format = 1
--! engine = "mysql"
--! seen_on = ["9.7.4-2"]
--! variables = { autocommit = "ON", binlog_format = "ROW", default_storage_engine = "InnoDB", innodb_lock_wait_timeout = "10", innodb_rollback_on_timeout = "OFF", log_bin = "OFF", sql_mode = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION", transaction_isolation = "REPEATABLE-READ", version_comment = "(Debian)" }
--! isolation = "READ COMMITTED"
--! session_setup = [
--!   "SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES'",
--!   "SET SESSION time_zone = '+00:00'",
--!   "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
--!   "SET SESSION autocommit = 1",
--!   "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
--! ]
--! anomaly = "wrong-count"
--! oracle = "txcheck"
--! kind = "wrong-affected"
--! known = "unfiled:mysql-hypergraph-update-limit"
--! seed = "722:8071"
--! reproduced = "3/3"
--! signature = "d12087b9"
--! # T3.1 (update) at READ COMMITTED: affected differ: got affected 0; on the rows it should see: affected 1
--! # T3.1, effect: expected t0: (4, 1002), got t0: (4, 10)
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, vkey INT);
/* init */ INSERT INTO t0 (pkey, vkey) VALUES (4, 10);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1001;    -- @got affected 1
/* s2 T2.1 */ SET SESSION optimizer_switch = 'hypergraph_optimizer=on';
/* s2 T3.1 */ UPDATE t0 SET vkey = 1002 ORDER BY t0.pkey LIMIT 1; -- @got affected 0  @expect affected 1
/* s1 T1.3 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (4, 1001)
