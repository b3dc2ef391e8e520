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
--! kind = "wrong-rows"
--! known = "unfiled:mysql-count-nowait"
--! seed = "1:80"
--! reproduced = "3/3"
--! signature = "4e04dd3e"
--! # T2.1 (locking-select) at REPEATABLE READ: answered (0); on the rows it should see it answers (1)
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY);
/* init */ INSERT INTO t0 (pkey) VALUES (2);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ DELETE FROM t0;               -- @got affected 1
/* s2 T2.1 */ SELECT COUNT(*) FROM t0 FOR UPDATE NOWAIT; -- @got (0)  @expect (1)
/* s1 T1.3 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got empty
