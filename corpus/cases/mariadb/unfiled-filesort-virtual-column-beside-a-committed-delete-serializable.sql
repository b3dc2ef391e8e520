--! format = 1
--! engine = "mariadb"
--! isolation = "SERIALIZABLE"
--! known = "unfiled:mariadb-filesort-virtual-column"
--! # OPEN; found by Rashomon, on 11.8; shown on 10.11, too: the DELETE, which is over, does no harm
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c1 INT, c0 BIGINT GENERATED ALWAYS AS (c1 + 1) VIRTUAL);
/* init */ CREATE INDEX i0 ON t0 (c0);
/* init */ INSERT INTO t0 (pkey, vkey, c1) VALUES (3, 3, 0), (4, 4, 1), (5, 5, 2);
/* s1 T1.1 */ DELETE FROM t0 WHERE pkey = 5;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ UPDATE t0 SET vkey = 1005 WHERE pkey = 3;
/* s1 T3.1 */ SELECT pkey, vkey FROM t0 WHERE c0 <> 0 ORDER BY vkey; -- @got empty  @expect (3, 3) (4, 4)
/* s2 T2.3 */ COMMIT;
