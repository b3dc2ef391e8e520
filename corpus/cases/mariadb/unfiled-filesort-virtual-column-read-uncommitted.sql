--! format = 1
--! engine = "mariadb"
--! isolation = "READ UNCOMMITTED"
--! known = "unfiled:mariadb-filesort-virtual-column"
--! # OPEN; found by Rashomon, on 10.5, 10.11 and 11.8
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL, vkey INT, c1 INT, c0 BIGINT GENERATED ALWAYS AS (c1 + 1) VIRTUAL);
/* init */ CREATE INDEX i0 ON t0 (c0);
/* init */ INSERT INTO t0 (pkey, vkey, c1) VALUES (3, 3, -1);
/* s1 T1.1 */ SELECT pkey, vkey FROM t0 WHERE c0 <= 0 ORDER BY pkey; -- @got empty  @expect (3, 3)
