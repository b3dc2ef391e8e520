--! format = 1
--! engine = "mariadb"
--! isolation = "READ UNCOMMITTED"
--! prepared = ["s1"]
--! known = "unfiled:mariadb-filesort-virtual-column"
--! # OPEN; found by Rashomon, on 10.11
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c1 INT, c0 BIGINT GENERATED ALWAYS AS (c1 + 1) VIRTUAL);
/* init */ CREATE INDEX i0 ON t0 (c0);
/* init */ INSERT INTO t0 (pkey, c1) VALUES (1, -1), (3, 8);
/* s1 T1.1 */ SELECT pkey FROM t0 WHERE c0 <= 3 ORDER BY pkey; -- @got (1)
/* s2 T2.1 */ SELECT * FROM t0;
/* s1 T3.1 */ SELECT pkey FROM t0 WHERE c0 <= 3 ORDER BY pkey; -- @got empty  @expect (1)
/* s2 T4.1 */ SELECT * FROM t0;
/* s1 T5.1 */ SELECT pkey FROM t0 WHERE c0 <= 3 ORDER BY pkey; -- @got empty  @expect (1)
/* s2 T6.1 */ SELECT * FROM t0;
/* s1 T7.1 */ SELECT pkey FROM t0 WHERE c0 <= 3 ORDER BY pkey; -- @got empty  @expect (1)
