--! format = 1
--! engine = "mysql"
--! isolation = "REPEATABLE READ"
--! known = "unfiled:mysql-cascade-deadlock"
--! # OPEN; found by Rashomon, on 9.7
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 INT);
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, c0 INT, f0 BIGINT, INDEX (c0), FOREIGN KEY (f0) REFERENCES t0 (pkey) ON DELETE CASCADE);
/* init */ INSERT INTO t0 (pkey, c0) VALUES (1, 1);
/* init */ INSERT INTO t1 (pkey, c0, f0) VALUES (5, 7, 1);
/* s1 */ BEGIN;
/* s1 */ INSERT INTO t0 (pkey) VALUES (17), (18), (19), (20), (21), (22), (23), (24), (25), (26);
/* s1 */ SELECT t1.c0 FROM t1 LOCK IN SHARE MODE;
/* s2 */ BEGIN;
/* s2 */ DELETE FROM t0 WHERE t0.pkey = 1;  -- @blocks s1  @got affected 0  @expect error deadlock
/* s1 */ UPDATE t0 SET c0 = 0 WHERE t0.pkey = 1; -- @resumes s2
/* s1 */ COMMIT;
/* s2 */ COMMIT;
