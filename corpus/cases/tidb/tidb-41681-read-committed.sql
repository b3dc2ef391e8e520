--! format = 1
--! engine = "tidb"
--! isolation = "READ COMMITTED"
--! # DESIGN; reported for TiDB 6.x
--! # tidb#41681
--! # status: open
--! # write skew: what READ COMMITTED promises, and what an optimistic snapshot gives as well
/* init */ CREATE TABLE t1 (k INT PRIMARY KEY, v INT);
/* init */ INSERT INTO t1 VALUES (0, 0);
/* init */ INSERT INTO t1 VALUES (1, 0);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t1 SET v=1 WHERE k=0;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ UPDATE t1 SET v=1 WHERE k=1;
/* s2 T2.3 */ SELECT * FROM t1 WHERE k=0;   -- @expect (0, 0)
/* s1 T1.3 */ SELECT * FROM t1 WHERE k=1;   -- @expect (1, 0)
/* s2 T2.4 */ COMMIT;
/* s1 T1.4 */ COMMIT;
/* s3 T3.1 */ SELECT * FROM t1 ORDER BY k;  -- @expect (0, 1) (1, 1)
