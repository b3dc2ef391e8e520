--! format = 1
--! engine = "mysql"
--! isolation = "REPEATABLE READ"
--! # DESIGN; found on MySQL 9.7: outside of a transaction the subquery of a locking SELECT is a consistent read of its own, and its snapshot
--! # is as old as the SELECT, which waits for a row of another table. MySQL manual, "Consistent Nonlocking Reads" and "Locking Reads"
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT);
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT);
/* init */ INSERT INTO t0 (pkey, vkey) VALUES (1, 3), (6, 6);
/* init */ INSERT INTO t1 (pkey, vkey) VALUES (1, 1), (2, 2);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ INSERT INTO t1 (pkey, vkey) VALUES (3, 1005), (4, 1005), (5, 1005), (6, 1005); -- @got affected 4
/* s1 T1.3 */ UPDATE t0 SET vkey = 1006 WHERE pkey = 6; -- @got affected 1
/* s2 T2.1 */ SELECT t0.vkey FROM t0 WHERE (SELECT COUNT(*) FROM t1) < t0.pkey FOR UPDATE; -- @blocks s1  @got (1006)
/* s1 T1.4 */ COMMIT;                       -- @resumes s2
/* end */ SELECT * FROM t0;                 -- @got (1, 3) (6, 1006)
/* end */ SELECT * FROM t1;                 -- @got (1, 1) (2, 2) (3, 1005) (4, 1005) (5, 1005) (6, 1005)
