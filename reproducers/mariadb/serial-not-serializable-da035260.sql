--! format = 1
--! engine = "mariadb"
--! seen_on = ["10.11.18-MariaDB-0+deb12u1"]
--! variables = { autocommit = "ON", binlog_format = "MIXED", default_storage_engine = "InnoDB", innodb_lock_wait_timeout = "10", innodb_rollback_on_timeout = "OFF", innodb_snapshot_isolation = "OFF", log_bin = "OFF", sql_mode = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION", tx_isolation = "REPEATABLE-READ", version_comment = "Debian 12" }
--! isolation = "SERIALIZABLE"
--! session_setup = [
--!   "SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES'",
--!   "SET SESSION time_zone = '+00:00'",
--!   "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
--!   "SET SESSION autocommit = 1",
--!   "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
--! ]
--! oracle = "serial"
--! kind = "not-serializable"
--! seed = "2511:4252"
--! reproduced = "3/3"
--! signature = "da035260"
--! # no serial order of T1, T2 explains the run: cycle: T1 -wr(t0)-> T2 -rw(t0)-> T1
--! # T1 before T2: were T2 first, T2.3 (affected) would be affected 1; it was affected 2
--! # T2 before T1: were T1 first, T2.2 (error) would be error duplicate (1062); it was error data (1690)
--! # commit order: T1 T2
--! # transactions run in search of a serial order: 3
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT DEFAULT 5);
/* init */ CREATE INDEX i_t1_0 ON t0 (c0);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (2, 2, 2);
/* s1 T1.1 */ START TRANSACTION WITH CONSISTENT SNAPSHOT;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1002 WHERE t0.c0 <= 0; -- @got affected 0
/* s2 T2.1 */ START TRANSACTION WITH CONSISTENT SNAPSHOT;
/* s2 T2.2 */ INSERT INTO t0 (pkey, vkey) VALUES (8, 1000), (4, 9223372036854775807 + 1000); -- @error data
/* s2 T2.3 */ DELETE FROM t0;               -- @waits  @got affected 2
/* s2 T2.4 */ COMMIT;
/* s1 T1.3 */ INSERT INTO t0 (pkey, vkey) VALUES (8, 1003); -- @got affected 1
/* s1 T1.4 */ COMMIT;                       -- @resumes s2
/* end */ SELECT * FROM t0;                 -- @got empty
