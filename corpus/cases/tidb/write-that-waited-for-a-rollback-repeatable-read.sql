--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! # FP; found by a run on TiDB 8.5.4 (unistore)
--! # status: no bug: what the write waited for was rolled back, so it goes on as of the moment when it was sent
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (4, 1, 0), (8, 2, 5);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET c0 = 6, vkey = 1000 WHERE pkey = 8;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ DELETE FROM t0 WHERE c0 >= 5; -- @waits  @got affected 1
/* s3 T3.1 */ INSERT INTO t0 (pkey, vkey, c0) VALUES (12, 1001, 7);
/* s1 T1.3 */ ROLLBACK;
/* s2 T2.3 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (4, 1, 0) (12, 1001, 7)
