--! format = 1
--! engine = "mariadb"
--! isolation = "REPEATABLE READ"
--! # FP; found by a run of probes on MySQL 9.7
--! # status: no bug: the UPDATE has taken the row out and waits to put it elsewhere, beside a half-inserted one
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, vkey INT, c0 BIGINT NOT NULL PRIMARY KEY);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (2, 10, 21);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SELECT t0.c0 FROM t0 WHERE t0.c0 > 21 FOR UPDATE; -- @got empty
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ UPDATE t0 SET vkey = 1004, c0 = 22 WHERE t0.pkey = 2; -- @waits  @got affected 1
/* s3 T3.1 */ INSERT INTO t0 (pkey, vkey, c0) VALUES (2, 1009, 24); -- @waits  @error duplicate
/* s1 T1.3 */ COMMIT;                       -- @resumes s2
/* s2 T2.3 */ COMMIT;                       -- @resumes s3
/* end */ SELECT * FROM t0;                 -- @got (2, 1004, 22)
