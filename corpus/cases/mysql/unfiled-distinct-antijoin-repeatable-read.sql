--! format = 1
--! engine = "mysql"
--! isolation = "REPEATABLE READ"
--! known = "unfiled:mysql-distinct-antijoin"
--! # OPEN; found by Rashomon, on 9.7
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 INT);
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY);
/* init */ INSERT INTO t0 (pkey, c0) VALUES (1, 10), (2, 20), (3, 20), (4, 30), (5, 30), (6, 40);
/* init */ INSERT INTO t1 (pkey) VALUES (2);
/* init */ CREATE INDEX i0 ON t0 (c0);
/* s1 */ SELECT DISTINCT c0 FROM t0 WHERE pkey NOT IN (SELECT pkey FROM t1); -- @got (10) (30) (40)  @expect (10) (20) (30) (40)
