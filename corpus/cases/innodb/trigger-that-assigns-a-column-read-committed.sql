--! format = 1
--! engine = "mysql"
--! isolation = "READ COMMITTED"
--! # FP; found by hand
--! # status: no bug: a trigger gives rows other values than the statement
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);
/* init */ INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20);
/* init */ CREATE TRIGGER tg1 BEFORE UPDATE ON t1 FOR EACH ROW SET NEW.c0 = OLD.c0;
/* init */ CREATE TRIGGER tg2 BEFORE INSERT ON t1 FOR EACH ROW SET NEW.c0 = COALESCE(NEW.c0, 5);
/* s1 */ BEGIN;
/* s2 */ BEGIN;
/* s1 */ UPDATE t1 SET vkey = 1000, c0 = 11;
/* s2 */ INSERT INTO t1 (pkey, vkey) VALUES (3, 1001);
/* s2 */ INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 1002, 12) ON DUPLICATE KEY UPDATE vkey = 1002, c0 = 13;
/* s1 */ COMMIT;
/* s2 */ SELECT * FROM t1;
/* s2 */ COMMIT;
