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
--! anomaly = "wrong-error"
--! oracle = "txcheck"
--! kind = "wrong-error"
--! known = "unfiled:mariadb-delete-returning-count"
--! reproduced = "3/3"
--! signature = "5b68972e"
--! # T2.1 (delete) at REPEATABLE READ: answered affected 0; on the rows it should see it answers empty
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 INT NOT NULL);
/* s1 T1.1 */ CREATE INDEX x1 ON t0 (c0 DESC) ALGORITHM=COPY;
/* s2 T2.1 */ DELETE FROM t0 WHERE t0.c0 BETWEEN 1 AND 0 RETURNING t0.pkey; -- @got affected 0  @expect empty
/* end */ SELECT * FROM t0;                 -- @got empty
