--! format = 1
--! engine = "mysql"
--! isolation = "READ UNCOMMITTED"
--! known = "unfiled:mysql-distinct-antijoin"
--! # OPEN; found by Rashomon, on 9.7
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 SMALLINT, c1 DATE);
/* init */ INSERT INTO t0 (pkey, c0, c1) VALUES (3, 3, '1999-12-31'), (4, 300, '2024-02-29');
/* s1 T1.1 */ CREATE INDEX x1 ON t0 (c1);
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ INSERT INTO t0 (pkey, c1) VALUES (5, '2024-02-29'); -- @got affected 1
/* s2 T2.3 */ SELECT DISTINCT t0.c1 FROM t0 WHERE t0.pkey NOT IN (SELECT r1.pkey FROM t0 AS r1 WHERE r1.c0 > 0); -- @got empty  @expect ('2024-02-29')
/* s2 T2.4 */ COMMIT;
