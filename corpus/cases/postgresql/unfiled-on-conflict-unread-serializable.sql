--! format = 1
--! engine = "postgres"
--! isolation = "SERIALIZABLE"
--! anomaly = "write-skew"
--! oracle = "serial"
--! kind = "not-serializable"
--! known = "unfiled:postgresql-on-conflict-unread"
--! # OPEN; found by Rashomon, on 13.16, 17.11 and 18.6; 17.12 refuses T1.3
--! # not reported yet
--! # status: -
--! # T2 before T1: the row 1 of t1 is gone when T1 reads it; T1 before T2: the row 6 is gone, and T2 inserts it
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY);
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY);
/* init */ INSERT INTO t0 (pkey) VALUES (6);
/* init */ INSERT INTO t1 (pkey) VALUES (1);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SELECT pkey FROM t1;          -- @got (1)
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ DELETE FROM t1 WHERE pkey = 1; -- @got affected 1
/* s2 T2.3 */ INSERT INTO t0 (pkey) VALUES (6) ON CONFLICT (pkey) DO NOTHING; -- @got affected 0
/* s2 T2.4 */ COMMIT;
/* s1 T1.3 */ DELETE FROM t0 WHERE pkey = 6; -- @got affected 1
/* s1 T1.4 */ COMMIT;
