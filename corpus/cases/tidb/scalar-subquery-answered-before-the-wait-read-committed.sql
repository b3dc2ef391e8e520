--! format = 1
--! engine = "tidb"
--! isolation = "READ COMMITTED"
--! # FP; found by a run on TiDB 8.5.4 (unistore)
--! # status: no bug: a subquery that stands alone is answered when the statement is planned, before it waits
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 DOUBLE);
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, n0 INT, c2 BIGINT);
/* init */ INSERT INTO t0 (pkey, c0) VALUES (2, -0.5);
/* init */ INSERT INTO t1 (pkey, n0, c2) VALUES (2, 19, 2);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t1 SET n0 = 0;         -- @got affected 1
/* s2 T2.1 */ UPDATE t1 SET c2 = (SELECT COUNT(*) FROM t0); -- @waits  @got affected 1
/* s1 T1.3 */ DELETE FROM t0;               -- @got affected 1
/* s1 T1.4 */ COMMIT;                       -- @resumes s2
/* end */ SELECT * FROM t0;                 -- @got empty
/* end */ SELECT * FROM t1;                 -- @got (2, 0, 1)
