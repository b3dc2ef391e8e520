--! format = 1
--! engine = "postgres"
--! isolation = "SERIALIZABLE"
--! anomaly = "write-skew"
--! oracle = "serial"
--! kind = "not-serializable"
--! known = "unfiled:postgresql-undone-insert-unread"
--! # OPEN; found by Rashomon, on 13.16, 15.18, 17.12 and 18.6
--! # not reported yet
--! # status: -
--! # T2 before T1: the row 11 is there when T1 inserts it; T1 before T2: the row 10 is there when T2 reads
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ INSERT INTO t0 (pkey) VALUES (10); -- @got affected 1
/* s1 T1.3 */ SAVEPOINT sp2;
/* s1 T1.4 */ INSERT INTO t0 (pkey) VALUES (11); -- @got affected 1
/* s2 T2.1 */ START TRANSACTION;
/* s2 T2.2 */ INSERT INTO t0 (pkey) VALUES (11); -- @blocks s1  @got affected 1
/* s2 T2.3 */ SELECT * FROM t0;             -- @got (11)
/* s2 T2.4 */ COMMIT;
/* s1 T1.5 */ ROLLBACK TO SAVEPOINT sp2;    -- @resumes s2
/* s1 T1.6 */ COMMIT;
