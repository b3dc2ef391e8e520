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
/* s1 */ BEGIN;
/* s1 */ UPDATE t1 SET v=1 WHERE k=0;
/* s2 */ BEGIN;
/* s2 */ UPDATE t1 SET v=1 WHERE k=1;
/* s2 */ SELECT * FROM t1 WHERE k=0;        -- @expect (0, 0)
/* s1 */ SELECT * FROM t1 WHERE k=1;        -- @expect (1, 0)
/* s2 */ COMMIT;
/* s1 */ COMMIT;
/* s3 */ SELECT * FROM t1 ORDER BY k;       -- @expect (0, 1) (1, 1)
