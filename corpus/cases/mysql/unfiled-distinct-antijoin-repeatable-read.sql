--! format = 1
--! engine = "mysql"
--! isolation = "REPEATABLE READ"
--! known = "unfiled:mysql-distinct-antijoin"
--! # OPEN; found by Rashomon, on 9.7
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 INT);
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY);
/* init */ INSERT INTO t0 (pkey, c0) VALUES (1, 10), (2, 10), (3, 10), (4, 10), (5, 10), (6, 10), (7, 10), (8, 10), (9, 10), (10, 10), (11, 20), (12, 20), (13, 20), (14, 20), (15, 20), (16, 20), (17, 20), (18, 20), (19, 20), (20, 20);
/* init */ INSERT INTO t1 (pkey) VALUES (11);
/* init */ CREATE INDEX i0 ON t0 (c0);
/* s1 */ SELECT DISTINCT c0 FROM t0 WHERE pkey NOT IN (SELECT pkey FROM t1); -- @got (10)  @expect (10) (20)
