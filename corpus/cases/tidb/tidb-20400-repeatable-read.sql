--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#20400"
--! # BUG; reported for TiDB 4.0
--! # tidb#20400
--! # status: closed, fixed in 4.0.8 (by #20407)
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT);
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);
/* init */ INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 1, -1);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t1 SET vkey = 1000;
/* s1 T1.3 */ SELECT t1.pkey FROM t1 WHERE t1.pkey NOT IN (SELECT t0.pkey FROM t0 WHERE t1.c0 > 0) ORDER BY t1.pkey; -- @got empty  @expect (1)
/* s1 T1.4 */ COMMIT;
/* end */ SELECT * FROM t0;
/* end */ SELECT * FROM t1;
