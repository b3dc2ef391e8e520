--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#23966"
--! # DESIGN; found by a run on TiDB 8.5.4 (unistore)
--! # status: TiDB#23966: the snapshot shows a moved row at its old place, but not by a unique key that the reader deleted
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, vkey INT, c0 BIGINT NOT NULL PRIMARY KEY);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (2, 7, 21);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ UPDATE t0 SET vkey = 1002, c0 = 0;
/* s1 T1.2 */ DELETE FROM t0;
/* s1 T1.3 */ SELECT * FROM t0 WHERE t0.pkey = 2; -- @got empty
/* s1 T1.4 */ COMMIT;
/* end */ SELECT * FROM t0;
