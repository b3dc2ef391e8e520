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
--! signature = "9156cea2"
--! # T2.1 (delete) at REPEATABLE READ: answered empty; on the rows it should see it answers affected 0
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, c0 SMALLINT NOT NULL, c1 DECIMAL(10,2), c2 BIGINT GENERATED ALWAYS AS (c0 + 1) VIRTUAL);
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL, c1 VARCHAR(16), c3 BIGINT NOT NULL, FOREIGN KEY (c3) REFERENCES t1 (pkey));
/* s1 T1.1 */ SET SESSION expensive_subquery_limit = 0;
/* s1 T2.1 */ DELETE FROM t0 WHERE t0.c3 > (SELECT MAX(t1.c2) FROM t1) RETURNING t0.c1; -- @got empty  @expect affected 0
/* end */ SELECT * FROM t0;                 -- @got empty
/* end */ SELECT * FROM t1;                 -- @got empty
