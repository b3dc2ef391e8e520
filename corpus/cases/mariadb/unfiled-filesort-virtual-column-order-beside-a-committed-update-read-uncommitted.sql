--! format = 1
--! engine = "mariadb"
--! isolation = "READ UNCOMMITTED"
--! known = "unfiled:mariadb-filesort-virtual-column"
--! # OPEN; found by Rashomon, on 11.8; shown on 10.11, too: the UPDATE does no harm, and the SELECT sorts as if c2 were NULL
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL, vkey INT, c1 BIGINT NOT NULL PRIMARY KEY, c0 TEXT, c2 BIGINT GENERATED ALWAYS AS (c1 + 1) VIRTUAL);
/* init */ CREATE INDEX i0 ON t0 (c0(4) DESC, c2);
/* init */ INSERT INTO t0 (pkey, vkey, c1, c0) VALUES (6, 6, 24, ''), (7, 7, 25, '');
/* s1 T1.1 */ UPDATE t0 SET vkey = 1006 WHERE t0.pkey = 6;
/* s2 T2.1 */ SELECT * FROM t0 WHERE t0.c0 <> 'a' ORDER BY t0.c2, t0.pkey DESC; -- @got (7, 7, 25, '', 26) (6, 1006, 24, '', 25)  @expect (6, 1006, 24, '', 25) (7, 7, 25, '', 26)
