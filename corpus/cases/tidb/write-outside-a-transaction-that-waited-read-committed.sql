--! format = 1
--! engine = "tidb"
--! isolation = "READ COMMITTED"
--! # FP; found by a run on TiDB 8.5.4 (unistore)
--! # status: no bug: it is optimistic, and waited at its commit for a row that was locked and not changed
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL, vkey INT, c0 DECIMAL(10,2));
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (2, 15, 0.00), (5, 18, 2.25);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET c0 = 0.00, vkey = 1000 WHERE t0.pkey = 5;
/* s1 T1.3 */ SELECT * FROM t0 FOR UPDATE;
/* s2 T2.1 */ DELETE FROM t0 WHERE t0.c0 < 2.25; -- @waits  @got affected 1
/* s1 T1.4 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (5, 1000, 0.00)
