--! format = 1
--! engine = "mysql"
--! isolation = "REPEATABLE READ"
--! # FP; found by hand
--! # status: no bug: a trigger adds rows to a table that no write names
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);
/* init */ CREATE TABLE log1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);
/* init */ INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20);
/* init */ CREATE TRIGGER tg1 AFTER UPDATE ON t1 FOR EACH ROW INSERT INTO log1 (pkey, vkey, c0) VALUES (NEW.pkey * 4096 + NEW.vkey, NEW.vkey, OLD.c0);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ SELECT * FROM log1;           -- @got empty
/* s1 T1.2 */ UPDATE t1 SET vkey = 1000, c0 = 11; -- @got affected 2
/* s1 T1.3 */ SELECT * FROM log1;           -- @got (5096, 1000, 10) (9192, 1000, 20)
/* s2 T2.3 */ SELECT * FROM log1;           -- @got empty
/* s2 T2.4 */ SELECT * FROM log1 FOR UPDATE; -- @blocks s1  @got empty
/* s1 T1.4 */ ROLLBACK;                     -- @resumes s2
/* s2 T2.5 */ UPDATE t1 SET vkey = 1001, c0 = 12 WHERE pkey = 1; -- @got affected 1
/* s2 T2.6 */ COMMIT;
/* end */ SELECT * FROM log1;               -- @got (5097, 1001, 10)
/* end */ SELECT * FROM t1;                 -- @got (1, 1001, 12) (2, 2, 20)
