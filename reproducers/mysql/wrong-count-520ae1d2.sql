--! format = 1
--! engine = "mysql"
--! seen_on = ["9.7.4-2"]
--! variables = { autocommit = "ON", binlog_format = "ROW", default_storage_engine = "InnoDB", innodb_lock_wait_timeout = "10", innodb_rollback_on_timeout = "OFF", log_bin = "OFF", sql_mode = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION", transaction_isolation = "REPEATABLE-READ", version_comment = "(Debian)" }
--! isolation = "READ UNCOMMITTED"
--! session_setup = [
--!   "SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES'",
--!   "SET SESSION time_zone = '+00:00'",
--!   "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
--!   "SET SESSION autocommit = 1",
--!   "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
--! ]
--! anomaly = "wrong-count"
--! oracle = "txcheck"
--! kind = "wrong-affected"
--! known = "unfiled:mysql-join-update-semijoin"
--! seed = "903:645"
--! reproduced = "3/3"
--! signature = "520ae1d2"
--! # T2.1 (update) at READ UNCOMMITTED: answered affected 0; on the rows it should see it answers affected 1
--! # T2.1, effect: expected t0: (4, 1002), got t0: (4, 13)
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL);
/* init */ CREATE TABLE t2 (c0 INT);
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL, vkey INT);
/* init */ INSERT INTO t1 (pkey) VALUES (3), (4);
/* init */ INSERT INTO t2 (c0) VALUES (3);
/* init */ INSERT INTO t0 (pkey, vkey) VALUES (4, 13), (6, 14);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SELECT t2.c0 FROM t2 FOR UPDATE; -- @got (3)
/* s2 T2.1 */ UPDATE t1 JOIN t0 ON t1.pkey = t0.pkey SET t0.vkey = 1002 WHERE EXISTS (SELECT 1 FROM t2); -- @got affected 0  @expect affected 1
/* s1 T1.3 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (4, 13) (6, 14)
/* end */ SELECT * FROM t1;                 -- @got (3) (4)
/* end */ SELECT * FROM t2;                 -- @got (3)
