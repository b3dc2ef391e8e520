--! format = 1
--! engine = "mysql"
--! isolation = "READ COMMITTED"
--! # FP; found by hand
--! # status: no bug: triggers change and delete rows of a table that no write names
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);
/* init */ CREATE TABLE t2 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);
/* init */ INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20);
/* init */ INSERT INTO t2 (pkey, vkey, c0) VALUES (1, 3, 10), (2, 4, 20);
/* init */ CREATE TRIGGER tg1 AFTER UPDATE ON t1 FOR EACH ROW UPDATE t2 SET vkey = NEW.vkey, c0 = NEW.c0 WHERE pkey = NEW.pkey;
/* init */ CREATE TRIGGER tg2 AFTER DELETE ON t1 FOR EACH ROW DELETE FROM t2 WHERE pkey = OLD.pkey;
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ UPDATE t2 SET vkey = 1000, c0 = 21 WHERE pkey = 2; -- @got affected 1
/* s1 T1.2 */ UPDATE t1 SET vkey = 1001, c0 = 11; -- @blocks s2  @got affected 2
/* s2 T2.3 */ ROLLBACK;                     -- @resumes s1
/* s2 T3.1 */ BEGIN;
/* s2 T3.2 */ SELECT * FROM t2;             -- @got (1, 3, 10) (2, 4, 20)
/* s1 T1.3 */ DELETE FROM t1 WHERE pkey = 1; -- @got affected 1
/* s1 T1.4 */ SELECT * FROM t2;             -- @got (2, 1001, 11)
/* s1 T1.5 */ COMMIT;
/* s2 T3.3 */ SELECT * FROM t2;             -- @got (2, 1001, 11)
/* s2 T3.4 */ COMMIT;
/* end */ SELECT * FROM t1;                 -- @got (2, 1001, 11)
/* end */ SELECT * FROM t2;                 -- @got (2, 1001, 11)
