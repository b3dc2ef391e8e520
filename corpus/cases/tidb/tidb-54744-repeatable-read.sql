--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#54744"
--! # OPEN; reported for TiDB 8.x
--! # tidb#54744
--! # status: open
/* init */ CREATE TABLE t0(c0 INT primary key);
/* init */ INSERT INTO t0 VALUES (1);
/* init */ INSERT INTO t0 VALUES (-1);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ BEGIN;
/* s1 T1.2 */ SELECT * FROM t0;
/* s2 T2.2 */ SELECT * FROM t0;
/* s1 T1.3 */ UPDATE t0 SET c0 = 2 where c0 = 1;
/* s1 T1.4 */ SELECT * FROM t0;
/* s1 T1.5 */ COMMIT;
/* s2 T2.3 */ DELETE FROM t0;               -- @expect affected 2  @expect error serialization
/* s2 T2.4 */ SELECT * FROM t0;             -- @got (1)  @expect empty
/* s2 T2.5 */ COMMIT;
