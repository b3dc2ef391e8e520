--! format = 1
--! engine = "mysql"
--! isolation = "READ COMMITTED"
--! known = "unfiled:mysql-join-update-semijoin"
--! # OPEN; found by Rashomon, on 9.7
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL);
/* init */ CREATE TABLE t2 (c0 INT);
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL, vkey INT);
/* init */ INSERT INTO t1 (pkey) VALUES (3), (4);
/* init */ INSERT INTO t2 (c0) VALUES (3);
/* init */ INSERT INTO t0 (pkey, vkey) VALUES (4, 13), (6, 14);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SELECT t2.c0 FROM t2 FOR UPDATE;
/* s2 T2.1 */ UPDATE t1 JOIN t0 ON t1.pkey = t0.pkey SET t0.vkey = 1002 WHERE EXISTS (SELECT 1 FROM t2); -- @got affected 0  @expect affected 1
/* s1 T1.3 */ COMMIT;
