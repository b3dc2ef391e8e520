--! format = 1
--! engine = "mariadb"
--! isolation = "REPEATABLE READ"
--! # FP; found by a run of 50,000 cases on MariaDB 10.11
--! # status: no bug: the same of an upsert that goes on after the wait
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, vkey INT, c0 BIGINT NOT NULL PRIMARY KEY, c1 INT, c2 INT);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ DELETE FROM t0 WHERE t0.pkey = 0; -- @got affected 0
/* s1 T1.3 */ INSERT INTO t0 (pkey, vkey, c0, c2) VALUES (7, 1000, 10, 0); -- @got affected 1
/* s2 T2.1 */ INSERT INTO t0 (pkey, vkey, c0, c2) VALUES (6, 1003, 11, 0) ON DUPLICATE KEY UPDATE c0 = 11, vkey = 1003; -- @waits  @got affected 1
/* s1 T1.4 */ INSERT INTO t0 (pkey, vkey, c1, c2) VALUES (6, 1001, 0, 0); -- @got affected 1
/* s1 T1.5 */ DELETE FROM t0 WHERE t0.pkey = 6; -- @got affected 1
/* s1 T1.6 */ COMMIT;                       -- @resumes s2
/* end */ SELECT * FROM t0;                 -- @got (6, 1003, 11, NULL, 0) (7, 1000, 10, NULL, 0)
