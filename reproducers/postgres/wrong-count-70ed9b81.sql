--! format = 1
--! engine = "postgres"
--! seen_on = ["18.6 (Debian 18.6-3)"]
--! variables = { deadlock_timeout = "20", default_transaction_isolation = "read committed", default_transaction_read_only = "off", fsync = "off", lock_timeout = "0", synchronous_commit = "off", track_commit_timestamp = "off" }
--! isolation = "READ COMMITTED"
--! session_setup = [
--!   "SET TIME ZONE 'UTC'",
--!   "SET client_min_messages = 'warning'",
--!   "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED",
--! ]
--! anomaly = "wrong-count"
--! oracle = "txcheck"
--! kind = "wrong-affected"
--! known = "unfiled:postgresql-antijoin-recheck"
--! seed = "16002:3265"
--! reproduced = "3/3"
--! signature = "70ed9b81"
--! # T2.1 (update) at READ COMMITTED: answered affected 1; on the rows it should see it answers affected 0
--! # T2.1, effect: expected t1: (1, 1000, 0.00), got t1: (1, 1003, 0.00)
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 NUMERIC(10,2));
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT);
/* init */ INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 1, 10.00);
/* init */ INSERT INTO t0 (pkey, vkey) VALUES (2, 5);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t1 SET c0 = 0.00, vkey = 1000; -- @got affected 1
/* s2 T2.1 */ UPDATE t1 SET vkey = 1003 WHERE NOT EXISTS (SELECT 1 FROM t0 WHERE t0.pkey IN (SELECT r1.pkey FROM t0 AS r1 WHERE t1.c0 = 0.00)); -- @blocks s1  @got affected 1  @expect affected 0  @wrong-effect t1
/* s1 T1.3 */ COMMIT;                       -- @resumes s2
/* end */ SELECT * FROM t0;                 -- @got (2, 5)
/* end */ SELECT * FROM t1;                 -- @got (1, 1003, 0.00)
