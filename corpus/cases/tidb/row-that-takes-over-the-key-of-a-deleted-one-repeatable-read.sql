--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! # FP; found by a run on TiDB 8.5.4 (unistore)
--! # status: no bug: only a primary key clusters, so the snapshot shows the deleted row beside the new one
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, c0 INT NOT NULL);
/* init */ INSERT INTO t0 (pkey, c0) VALUES (10, 0);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SELECT * FROM t0;
/* s2 T2.1 */ DELETE FROM t0;
/* s1 T1.3 */ REPLACE INTO t0 (pkey, c0) VALUES (10, 1);
/* s1 T1.4 */ INSERT INTO t0 (pkey, c0) VALUES (12, 0);
/* s1 T1.5 */ COMMIT;
/* end */ SELECT * FROM t0;
