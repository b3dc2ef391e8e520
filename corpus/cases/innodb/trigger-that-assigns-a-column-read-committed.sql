--! format = 1
--! engine = "mysql"
--! isolation = "READ COMMITTED"
--! # FP; found by hand
--! # status: no bug: a trigger gives rows other values than the statement
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);
/* init */ INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20);
/* init */ CREATE TRIGGER tg1 BEFORE UPDATE ON t1 FOR EACH ROW SET NEW.c0 = OLD.c0;
/* init */ CREATE TRIGGER tg2 BEFORE INSERT ON t1 FOR EACH ROW SET NEW.c0 = COALESCE(NEW.c0, 5);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t1 SET vkey = 1000, c0 = 11; -- @got affected 2
/* s2 T2.2 */ INSERT INTO t1 (pkey, vkey) VALUES (3, 1001); -- @got affected 1
/* s2 T2.3 */ INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 1002, 12) ON DUPLICATE KEY UPDATE vkey = 1002, c0 = 13; -- @blocks s1  @got affected 2
/* s1 T1.3 */ COMMIT;                       -- @resumes s2
/* s2 T2.4 */ SELECT * FROM t1;             -- @got (1, 1002, 10) (2, 1000, 20) (3, 1001, 5)
/* s2 T2.5 */ COMMIT;
/* end */ SELECT * FROM t1;                 -- @got (1, 1002, 10) (2, 1000, 20) (3, 1001, 5)
