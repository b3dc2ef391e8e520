--! format = 1
--! engine = "mariadb"
--! seen_on = ["10.11.18-MariaDB-0+deb12u1"]
--! variables = { autocommit = "ON", binlog_format = "MIXED", default_storage_engine = "InnoDB", innodb_lock_wait_timeout = "10", innodb_rollback_on_timeout = "OFF", innodb_snapshot_isolation = "OFF", log_bin = "OFF", sql_mode = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION", tx_isolation = "REPEATABLE-READ", version_comment = "Debian 12" }
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
--! known = "unfiled:mariadb-partitioned-limit"
--! reproduced = "3/3"
--! signature = "5ead066e"
--! # T1.3 (delete) at REPEATABLE READ: answered affected 0; on the rows it should see it answers affected 1
--! # T1.3, effect: expected t0: empty, got t0: (1, 0)
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 INT) PARTITION BY HASH (pkey) PARTITIONS 3;
/* init */ INSERT INTO t0 (pkey, c0) VALUES (1, 0);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SELECT c0 FROM t0;            -- @got (0)
/* s2 T2.1 */ SELECT c0 FROM t0 WHERE pkey BETWEEN 1 AND 0; -- @got empty
/* s1 T1.3 */ DELETE FROM t0 ORDER BY pkey LIMIT 1; -- @got affected 0  @expect affected 1
/* s1 T1.4 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (1, 0)
