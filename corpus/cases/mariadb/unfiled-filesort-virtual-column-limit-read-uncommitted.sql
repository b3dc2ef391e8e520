--! format = 1
--! engine = "mariadb"
--! isolation = "READ UNCOMMITTED"
--! known = "unfiled:mariadb-filesort-virtual-column"
--! # OPEN; found by Rashomon, on 10.11 and 11.8
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 VARCHAR(16) NOT NULL, c1 INT, c2 BIGINT GENERATED ALWAYS AS (c1 + 1) VIRTUAL);
/* init */ CREATE INDEX i0 ON t0 (c0, c2);
/* init */ INSERT INTO t0 (pkey, c0, c1) VALUES (5, 'x_y', 10), (7, 'b', NULL);
/* s1 */ SELECT t0.c1 FROM t0 WHERE t0.c0 <> '' ORDER BY t0.c2, t0.pkey LIMIT 1; -- @got (10)  @expect (NULL)
/* end */ SELECT * FROM t0;                 -- @got (5, 'x_y', 10, 11) (7, 'b', NULL, NULL)
