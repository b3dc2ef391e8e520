--! format = 1
--! engine = "mariadb"
--! isolation = "REPEATABLE READ"
--! known = "unfiled:mariadb-filesort-virtual-column"
--! # OPEN; found by Rashomon, on 10.11 and 11.8
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL, c0 BLOB NOT NULL, c1 BIGINT NOT NULL PRIMARY KEY, c2 BIGINT GENERATED ALWAYS AS (c1 + 1) VIRTUAL);
/* init */ CREATE INDEX i0 ON t0 (c2, c0(4));
/* init */ INSERT INTO t0 (pkey, c0, c1) VALUES (2, X'', 20);
/* s1 */ BEGIN;
/* s1 */ UPDATE t0 SET c0 = X'FF';
/* s1 */ SELECT t0.c1 FROM t0 WHERE t0.c2 > 1 ORDER BY t0.c1, t0.pkey; -- @got empty  @expect (20)
/* s1 */ COMMIT;
