--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#21447"
--! # BUG; found by a run on TiDB 4.0.2
--! # tidb#21447
--! # status: closed (fixed in 4.0.9)
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT);
/* init */ INSERT INTO t0 (pkey, vkey) VALUES (1, 1), (2, 2);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ DELETE FROM t0 WHERE t0.pkey = 2; -- @got affected 1
/* s1 T1.2 */ UPDATE t0 SET vkey = 1000 WHERE t0.pkey = 2; -- @got affected 0
/* s1 T1.3 */ SELECT t0.vkey FROM t0 WHERE t0.pkey = 2; -- @got empty  @expect (2)
/* s1 T1.4 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (1, 1)
