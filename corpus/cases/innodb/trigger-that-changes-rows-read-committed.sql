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
/* s1 */ BEGIN;
/* s2 */ BEGIN;
/* s2 */ UPDATE t2 SET vkey = 1000, c0 = 21 WHERE pkey = 2;
/* s1 */ UPDATE t1 SET vkey = 1001, c0 = 11;
/* s2 */ ROLLBACK;
/* s2 */ BEGIN;
/* s2 */ SELECT * FROM t2;
/* s1 */ DELETE FROM t1 WHERE pkey = 1;
/* s1 */ SELECT * FROM t2;
/* s1 */ COMMIT;
/* s2 */ SELECT * FROM t2;
/* s2 */ COMMIT;
