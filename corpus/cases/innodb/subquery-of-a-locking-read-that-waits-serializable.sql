--! format = 1
--! engine = "mysql"
--! isolation = "SERIALIZABLE"
--! known = "documented:subquery-of-a-locking-read"
--! # DESIGN; found on MySQL 9.7: outside of a transaction the subquery of a locking SELECT reads a snapshot from before the wait, so that no
--! # serial order explains its answer. MySQL manual, "Locking Reads"
--! # status: by design
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT);
/* init */ INSERT INTO t0 (pkey, vkey) VALUES (3, 3), (6, 6);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ INSERT INTO t0 (pkey, vkey) VALUES (11, 1006); -- @got affected 1
/* s2 T2.1 */ SELECT r2.vkey FROM t0 AS r2 WHERE (SELECT COUNT(*) FROM t0 AS r5) < r2.pkey FOR UPDATE; -- @blocks s1  @got (3) (6) (1006)
/* s1 T1.3 */ COMMIT;                       -- @resumes s2
/* end */ SELECT * FROM t0;                 -- @got (3, 3) (6, 6) (11, 1006)
