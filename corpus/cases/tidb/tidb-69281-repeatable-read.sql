--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#69281"
--! # BUG; reported for TiDB 8.5.6
--! # tidb#69281
--! # status: open, severity major (2026)
/* init */ CREATE TABLE t (c1 NUMERIC);
/* init */ INSERT INTO t VALUES (1);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ INSERT INTO t (c1) VALUES (2);
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ DELETE FROM t;                -- @got affected 1  @expect waits
/* s1 T1.3 */ UPDATE t SET c1 = 3;          -- @got affected 2  @expect error deadlock  @expect error serialization  @expect affected 1
/* s1 T1.4 */ COMMIT;
/* s2 T2.3 */ ROLLBACK;
/* s1 T3.1 */ SELECT * FROM t;
