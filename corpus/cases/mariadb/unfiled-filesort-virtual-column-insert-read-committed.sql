--! format = 1
--! engine = "mariadb"
--! isolation = "READ COMMITTED"
--! known = "unfiled:mariadb-filesort-virtual-column"
--! # OPEN; found by Rashomon, on 11.8; shown on 10.11, too
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t1 (vkey INT);
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL, vkey INT, c0 INT, c1 BIGINT GENERATED ALWAYS AS (c0 + 1) VIRTUAL);
/* init */ CREATE INDEX i0 ON t0 (c1 DESC);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (5, 13, 1);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1002;
/* s2 T2.1 */ INSERT INTO t1 (vkey) SELECT 1005 FROM t0 WHERE t0.c1 <> 0 ORDER BY t0.pkey; -- @got affected 0  @expect affected 1
/* s1 T1.3 */ COMMIT;
