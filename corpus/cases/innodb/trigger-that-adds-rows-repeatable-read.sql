--! format = 1
--! engine = "mysql"
--! isolation = "REPEATABLE READ"
--! # FP; found by hand
--! # status: no bug: a trigger adds rows to a table that no write names
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);
/* init */ CREATE TABLE log1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);
/* init */ INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20);
/* init */ CREATE TRIGGER tg1 AFTER UPDATE ON t1 FOR EACH ROW INSERT INTO log1 (pkey, vkey, c0) VALUES (NEW.pkey * 4096 + NEW.vkey, NEW.vkey, OLD.c0);
/* s1 */ BEGIN;
/* s2 */ BEGIN;
/* s2 */ SELECT * FROM log1;
/* s1 */ UPDATE t1 SET vkey = 1000, c0 = 11;
/* s1 */ SELECT * FROM log1;
/* s2 */ SELECT * FROM log1;
/* s2 */ SELECT * FROM log1 FOR UPDATE;
/* s1 */ ROLLBACK;
/* s2 */ UPDATE t1 SET vkey = 1001, c0 = 12 WHERE pkey = 1;
/* s2 */ COMMIT;
