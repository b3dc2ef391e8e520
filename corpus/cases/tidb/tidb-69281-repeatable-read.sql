--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#69281"
--! # BUG; reported for TiDB 8.5.6
--! # tidb#69281
--! # status: open, severity major (2026)
/* init */ CREATE TABLE t (c1 NUMERIC);
/* init */ INSERT INTO t VALUES (1);
/* s1 */ BEGIN;
/* s1 */ INSERT INTO t (c1) VALUES (2);
/* s2 */ BEGIN;
/* s2 */ DELETE FROM t;                     -- @got affected 1  @expect waits
/* s1 */ UPDATE t SET c1 = 3;               -- @got affected 2  @expect error deadlock  @expect error serialization  @expect affected 1
/* s1 */ COMMIT;
/* s2 */ ROLLBACK;
/* s1 */ SELECT * FROM t;
