--! format = 1
--! engine = "mysql"
--! isolation = "READ COMMITTED"
--! # FP; found by a run of 6,000 cases on MySQL 9.7
--! # status: no bug: the trigger of T2.1 changes the row, and T3.2, which waits for T2, deletes it before anybody looks
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT);
/* init */ CREATE TABLE t2 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);
/* init */ INSERT INTO t1 (pkey, vkey) VALUES (5, 5);
/* init */ INSERT INTO t2 (pkey, vkey, c0) VALUES (5, 11, 1);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (5, 15, 1);
/* init */ CREATE TRIGGER tg1 AFTER UPDATE ON t2 FOR EACH ROW UPDATE t0 SET vkey = NEW.vkey, c0 = 100 WHERE pkey = NEW.pkey;
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t1 JOIN t0 ON t1.pkey = t0.pkey SET t1.vkey = 1000; -- @got affected 1
/* s2 T2.1 */ INSERT INTO t2 (pkey, vkey) VALUES (5, 1004) ON DUPLICATE KEY UPDATE vkey = 1004, c0 = 2; -- @blocks s1  @got affected 2  @resumes s3
/* s3 T3.1 */ START TRANSACTION;
/* s3 T3.2 */ DELETE FROM t0;               -- @blocks s1  @blocks s2  @got affected 2
/* s3 T3.3 */ COMMIT;
/* s1 T1.3 */ INSERT INTO t0 (pkey, vkey) VALUES (7, 1001); -- @got affected 1
/* s1 T1.4 */ COMMIT;                       -- @resumes s2
