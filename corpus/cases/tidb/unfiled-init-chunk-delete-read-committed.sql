--! format = 1
--! engine = "tidb"
--! isolation = "READ COMMITTED"
--! known = "unfiled:tidb-init-chunk-delete"
--! # OPEN; found by a run on TiDB 8.5.4 (unistore)
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, vkey INT, c0 BIGINT NOT NULL PRIMARY KEY);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (2, 1, 21), (5, 2, 24), (6, 3, 25), (7, 4, 26), (8, 5, 27);
/* s1 T1.1 */ SET SESSION tidb_init_chunk_size = 1;
/* s1 T2.1 */ BEGIN;
/* s1 T2.2 */ UPDATE t0 SET vkey = 1000 WHERE t0.pkey IN (5, 6, 7);
/* s1 T2.3 */ DELETE FROM t0;               -- @got affected 6  @expect affected 5
/* s1 T2.4 */ COMMIT;
/* end */ SELECT * FROM t0;
