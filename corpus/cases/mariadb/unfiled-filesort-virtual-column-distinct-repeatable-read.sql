--! format = 1
--! engine = "mariadb"
--! isolation = "REPEATABLE READ"
--! known = "unfiled:mariadb-filesort-virtual-column"
--! # OPEN; found on MariaDB 11.8: a COUNT of DISTINCT values in groups, which sorts what an index on a virtual column
--! # finds, loses the row that another transaction has deleted and not committed
--! # status: not filed
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c1 INT NOT NULL DEFAULT 0, c0 BIGINT GENERATED ALWAYS AS (c1 + 1) VIRTUAL);
/* init */ CREATE INDEX i_t1_1 ON t0 (c0);
/* init */ INSERT INTO t0 (pkey, c1) VALUES (1, -1);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ DELETE FROM t0;               -- @got affected 1
/* s2 T2.1 */ SELECT COUNT(DISTINCT t0.c0) FROM t0 WHERE t0.c0 = 0 GROUP BY t0.c1; -- @got empty  @expect (1)
/* s1 T1.3 */ COMMIT;
