--! format = 1
--! engine = "mariadb"
--! isolation = "READ UNCOMMITTED"
--! known = "unfiled:mariadb-filesort-virtual-column"
--! # OPEN; found by Rashomon, on 10.11 and 11.8
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c1 INT, c0 BIGINT GENERATED ALWAYS AS (c1 + 1) VIRTUAL) PARTITION BY HASH (pkey) PARTITIONS 3;
/* init */ CREATE INDEX i0 ON t0 (c1, c0);
/* init */ INSERT INTO t0 (pkey, vkey, c1) VALUES (5, 16, 1), (6, 17, 100);
/* s1 */ SELECT * FROM t0 WHERE t0.c1 IS NOT NULL ORDER BY t0.c1, t0.pkey DESC; -- @got (6, 17, 100, NULL) (6, 17, 100, NULL)  @expect (5, 16, 1, 2) (6, 17, 100, 101)
