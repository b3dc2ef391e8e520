--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "unfiled:tidb-own-null-groups"
--! # OPEN; found by a run on TiDB 4.0.2 (mocktikv)
--! # status: 8.5.4 is right
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 VARCHAR(16));
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, NULL), (2, 2, 'b'), (3, 3, NULL);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1000 WHERE t0.pkey = 1;
/* s1 T1.3 */ SELECT t0.pkey, COUNT(*) OVER (PARTITION BY t0.c0) FROM t0; -- @got (1, 1) (2, 1) (3, 1)  @expect (1, 2) (2, 1) (3, 2)
/* s1 T1.4 */ COMMIT;
/* end */ SELECT * FROM t0;
