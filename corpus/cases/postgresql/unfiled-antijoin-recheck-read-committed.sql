--! format = 1
--! engine = "postgres"
--! isolation = "READ COMMITTED"
--! known = "unfiled:postgresql-antijoin-recheck"
--! # OPEN; found by Rashomon, on 13.16, 15.18, 17.12 and 18.6
--! # not reported yet
--! # status: -
--! # EXPLAIN: Nested Loop Anti Join; the changed row is looked at again without the rows of t0
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT);
/* init */ INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 1, 10);
/* init */ INSERT INTO t0 (pkey, vkey) VALUES (2, 5);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t1 SET c0 = 0, vkey = 1000;
/* s2 T2.1 */ UPDATE t1 SET vkey = 1003 WHERE NOT EXISTS (SELECT 1 FROM t0 WHERE t0.pkey > t1.c0); -- @waits  @got affected 1  @expect affected 0
/* s1 T1.3 */ COMMIT;                       -- @resumes s2
