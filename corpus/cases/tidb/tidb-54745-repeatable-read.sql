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
/* s1 */ BEGIN;
/* s2 */ BEGIN;
/* s1 */ SELECT * FROM t0;
/* s2 */ SELECT * FROM t0;
/* s1 */ INSERT INTO t0(c0) VALUES (2);
/* s2 */ UPDATE t0 SET c0 = 3 where c0 > 0; -- @got affected 1  @expect error duplicate  @expect error serialization
/* s1 */ COMMIT;
/* s2 */ SELECT * FROM t0;                  -- @got (-1) (3)  @expect (-1) (1)
/* s2 */ COMMIT;
