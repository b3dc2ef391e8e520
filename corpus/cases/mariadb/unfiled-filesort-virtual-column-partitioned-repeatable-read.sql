--! format = 1
--! engine = "mariadb"
--! isolation = "REPEATABLE READ"
--! known = "unfiled:mariadb-filesort-virtual-column"
--! # OPEN; found by Rashomon, on 10.11 and 11.8: the SELECT names the first column of the index, and not the virtual one
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT, c1 INT, c2 BIGINT GENERATED ALWAYS AS (c0 + 1) VIRTUAL) PARTITION BY HASH (pkey) PARTITIONS 3;
/* init */ CREATE INDEX i0 ON t0 (c1, c2);
/* init */ INSERT INTO t0 (pkey, vkey, c0, c1) VALUES (1, 5, -3, 7), (2, 6, 1, 8), (4, 8, 5, 9);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1001 WHERE t0.pkey = 1;
/* s2 T2.1 */ SELECT t0.pkey FROM t0 WHERE t0.c1 < 100 ORDER BY t0.vkey, t0.pkey; -- @expect (1) (2) (4)
/* s1 T1.3 */ COMMIT;
