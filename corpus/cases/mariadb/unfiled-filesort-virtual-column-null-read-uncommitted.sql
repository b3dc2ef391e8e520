--! format = 1
--! engine = "mariadb"
--! isolation = "READ UNCOMMITTED"
--! known = "unfiled:mariadb-filesort-virtual-column"
--! # OPEN; found by Rashomon, on 10.11 and 11.8
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 VARCHAR(16) NOT NULL, c2 BIGINT, c1 BIGINT GENERATED ALWAYS AS (c2 + 1) VIRTUAL);
/* init */ CREATE INDEX i_t1_0 ON t0 (c0, c1);
/* init */ INSERT INTO t0 (pkey, c0, c2) VALUES (3, 'ab', 0);
/* s1 T1.1 */ SELECT t0.c1 FROM t0 WHERE t0.c0 LIKE 'a%' ORDER BY t0.c2, t0.pkey; -- @got (NULL)  @expect (1)
/* end */ SELECT * FROM t0;                 -- @got (3, 'ab', 0, 1)
