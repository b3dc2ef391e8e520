--! format = 1
--! engine = "mariadb"
--! isolation = "REPEATABLE READ"
--! oracle = "txcheck"
--! kind = "wrong-rows"
--! known = "unfiled:mariadb-filesort-virtual-column"
--! # OPEN; found by Rashomon
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, vkey INT, c0 DOUBLE NOT NULL DEFAULT 0, c2 BIGINT, c1 BIGINT GENERATED ALWAYS AS (c2 + 1) VIRTUAL);
/* init */ CREATE INDEX i_t1_0 ON t0 (c0, c1);
/* init */ INSERT INTO t0 (pkey, vkey, c0, c2) VALUES (5, 4, 100, 0), (8, 6, 0, 2);
/* s1 T1.1 */ UPDATE t0 SET c0 = 0, vkey = 1004; -- @got affected 2
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ UPDATE t0 SET vkey = 1000;    -- @got affected 2
/* s1 T3.1 */ SELECT t0.c2 FROM t0 WHERE t0.c0 < 1.5 ORDER BY t0.c1, t0.pkey DESC; -- @got (2) (0)  @expect (0) (2)
/* s2 T2.3 */ COMMIT;
