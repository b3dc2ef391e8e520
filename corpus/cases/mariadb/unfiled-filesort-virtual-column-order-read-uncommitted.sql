--! format = 1
--! engine = "mariadb"
--! isolation = "READ UNCOMMITTED"
--! known = "unfiled:mariadb-filesort-virtual-column"
--! # OPEN; found by Rashomon, on 10.11 and 11.8
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL, c1 BIGINT NOT NULL PRIMARY KEY, c0 TEXT, c2 BIGINT GENERATED ALWAYS AS (c1 + 1) VIRTUAL);
/* init */ CREATE INDEX i0 ON t0 (c0(4) DESC, c2);
/* init */ INSERT INTO t0 (pkey, c1, c0) VALUES (6, 24, ''), (7, 25, '');
/* s1 */ SELECT * FROM t0 WHERE t0.c0 <> 'a' ORDER BY t0.c2, t0.pkey DESC; -- @got (7, 25, '', 26) (6, 24, '', 25)  @expect (6, 24, '', 25) (7, 25, '', 26)
