--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#53807"
--! # DESIGN; reported for TiDB 8.x
--! # tidb#53807
--! # status: open question
/* init */ CREATE TABLE t0 (c0 INT);
/* init */ INSERT INTO t0 (c0) VALUES(1),(2);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ BEGIN;
/* s1 T1.2 */ SELECT * FROM t0;
/* s2 T2.2 */ SELECT * FROM t0;
/* s1 T1.3 */ UPDATE t0 SET c0=123;
/* s2 T2.3 */ DELETE FROM t0 WHERE c0>=10;  -- @got affected 0  @expect waits  @expect affected 2  @expect error serialization
/* s1 T1.4 */ SELECT * FROM t0;
/* s1 T1.5 */ COMMIT;
/* s2 T2.4 */ SELECT * FROM t0;             -- @got (1) (2)  @got (123) (123)  @expect empty
/* s2 T2.5 */ COMMIT;
