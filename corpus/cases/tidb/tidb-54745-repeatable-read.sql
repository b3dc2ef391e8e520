--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#54745"
--! # OPEN; reported for TiDB 8.x
--! # tidb#54745
--! # status: open
/* init */ CREATE TABLE t0(c0 INT primary key);
/* init */ INSERT INTO t0 VALUES (1);
/* init */ INSERT INTO t0 VALUES (-1);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ BEGIN;
/* s1 T1.2 */ SELECT * FROM t0;
/* s2 T2.2 */ SELECT * FROM t0;
/* s1 T1.3 */ INSERT INTO t0(c0) VALUES (2);
/* s2 T2.3 */ UPDATE t0 SET c0 = 3 where c0 > 0; -- @got affected 1  @expect error duplicate  @expect error serialization
/* s1 T1.4 */ COMMIT;
/* s2 T2.4 */ SELECT * FROM t0;             -- @got (-1) (3)  @expect (-1) (1)
/* s2 T2.5 */ COMMIT;
