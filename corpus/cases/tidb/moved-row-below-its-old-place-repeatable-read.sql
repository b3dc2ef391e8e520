--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#23966"
--! # DESIGN; found by a run on TiDB 8.5.4 (unistore)
--! # status: TiDB#23966: the snapshot shows a moved row behind the reader's own version, which comes first by the key
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL, vkey INT, c0 BIGINT NOT NULL PRIMARY KEY);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 2, 21);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1000, c0 = 0;
/* s2 T2.1 */ START TRANSACTION;
/* s2 T2.2 */ UPDATE t0 SET vkey = 1003;    -- @waits
/* s1 T1.3 */ COMMIT;
/* s2 T2.3 */ SELECT t0.c0 FROM t0;         -- @got (0) (21)
/* s2 T2.4 */ COMMIT;
/* end */ SELECT * FROM t0;
