--! format = 1
--! engine = "mariadb"
--! seen_on = ["10.11.18-MariaDB-0+deb12u1"]
--! variables = { autocommit = "ON", binlog_format = "MIXED", default_storage_engine = "InnoDB", innodb_lock_wait_timeout = "10", innodb_rollback_on_timeout = "OFF", innodb_snapshot_isolation = "OFF", log_bin = "OFF", sql_mode = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION", tx_isolation = "REPEATABLE-READ", version_comment = "Debian 12" }
--! isolation = "READ COMMITTED"
--! session_setup = [
--!   "SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES'",
--!   "SET SESSION time_zone = '+00:00'",
--!   "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
--!   "SET SESSION autocommit = 1",
--!   "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
--! ]
--! anomaly = "missing-row"
--! oracle = "txcheck"
--! kind = "wrong-rows"
--! known = "unfiled:mariadb-filesort-virtual-column"
--! reproduced = "3/3"
--! signature = "4b381b31"
--! # T2.1 (select) at READ COMMITTED: answered empty; on the rows it should see it answers (3)
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL, vkey INT, c1 INT, c0 BIGINT GENERATED ALWAYS AS (c1 + 1) VIRTUAL);
/* init */ CREATE INDEX i0 ON t0 (c0);
/* init */ INSERT INTO t0 (pkey, vkey, c1) VALUES (3, 3, -1);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1001;    -- @got affected 1
/* s2 T2.1 */ SELECT vkey FROM t0 WHERE c0 <= 0 ORDER BY pkey; -- @got empty  @expect (3)
/* s1 T1.3 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (3, 1001, -1, 0)
