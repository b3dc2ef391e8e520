--! format = 1
--! engine = "mariadb"
--! isolation = "READ COMMITTED"
--! known = "unfiled:mariadb-filesort-virtual-column"
--! # OPEN; found by Rashomon, on 10.11: the DELETE has changed the first row while it waits for the second
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL, vkey INT, c1 INT DEFAULT 10, c0 BIGINT GENERATED ALWAYS AS (c1 + 1) VIRTUAL);
/* init */ CREATE INDEX i_t1_0 ON t0 (c0 DESC);
/* init */ INSERT INTO t0 (pkey, vkey, c1) VALUES (2, 2, 3), (3, 3, 3);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1005 WHERE t0.pkey = 3;
/* s2 T2.1 */ DELETE FROM t0;               -- @waits
/* s1 T1.3 */ SELECT * FROM t0 WHERE t0.c0 <= 5 ORDER BY t0.pkey; -- @got empty  @expect (2, 2, 3, 4) (3, 1005, 3, 4)
/* s1 T1.4 */ COMMIT;                       -- @resumes s2
