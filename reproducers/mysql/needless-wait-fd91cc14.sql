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
--! anomaly = "needless-wait"
--! oracle = "locks"
--! kind = "waited"
--! known = "unfiled:mysql-index-merge-nowait"
--! reproduced = "10/10"
--! signature = "fd91cc14"
--! # T2.1 (locking-select) at READ COMMITTED: it should not have waited: the lock view showed it waiting
--! # T2.1: it should not have waited: the lock view showed it waiting
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 VARCHAR(16));
/* init */ CREATE UNIQUE INDEX i0 ON t0 (c0);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (7, 5, NULL), (8, 6, 'u25');
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1003, ''); -- @got affected 1
/* s2 T2.1 */ SELECT * FROM t0 WHERE t0.pkey = 3 OR t0.c0 IS NULL FOR UPDATE NOWAIT; -- @blocks s1  @got (3, 1003, '') (7, 5, NULL)
/* s1 T1.3 */ COMMIT;                       -- @resumes s2
/* end */ SELECT * FROM t0;                 -- @got (3, 1003, '') (7, 5, NULL) (8, 6, 'u25')
