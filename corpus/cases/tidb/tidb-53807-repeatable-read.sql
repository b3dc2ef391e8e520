--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#53807"
--! # DESIGN; reported for TiDB 8.x
--! # tidb#53807
--! # status: open question
/* init */ CREATE TABLE t0 (c0 INT);
/* init */ INSERT INTO t0 (c0) VALUES(1),(2);
/* s1 */ BEGIN;
/* s2 */ BEGIN;
/* s1 */ SELECT * FROM t0;
/* s2 */ SELECT * FROM t0;
/* s1 */ UPDATE t0 SET c0=123;
/* s2 */ DELETE FROM t0 WHERE c0>=10;       -- @got affected 0  @expect waits  @expect affected 2  @expect error serialization
/* s1 */ SELECT * FROM t0;
/* s1 */ COMMIT;
/* s2 */ SELECT * FROM t0;                  -- @got (1) (2)  @got (123) (123)  @expect empty
/* s2 */ COMMIT;
