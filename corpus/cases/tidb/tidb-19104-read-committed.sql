--! format = 1
--! engine = "tidb"
--! isolation = "READ COMMITTED"
--! known = "TiDB#19104"
--! # BUG; reported for TiDB 4.0
--! # tidb#19104
--! # status: closed, fixed in 4.0.5 (by #19113)
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (6, 5, 10);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1000;
/* s1 T1.3 */ SELECT r1.pkey FROM t0 AS r1 WHERE r1.vkey IN (SELECT t0.vkey FROM t0 WHERE t0.pkey = 6 AND t0.c0 = 0); -- @got (6)  @expect empty
/* s1 T1.4 */ COMMIT;
/* end */ SELECT * FROM t0;
