--! format = 1
--! engine = "sqlite"
--! isolation = "SERIALIZABLE"
--! # FP; found by hand
--! # status: no bug: a trigger adds rows to a table that no write names
/* init */ CREATE TABLE t1 (pkey INTEGER NOT NULL PRIMARY KEY, vkey INT, c0 INT);
/* init */ CREATE TABLE log1 (pkey BIGINT NOT NULL PRIMARY KEY, n0 INT, c0 INT);
/* init */ INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20);
/* init */ CREATE TRIGGER tg1 AFTER DELETE ON t1 FOR EACH ROW BEGIN INSERT INTO log1 (pkey, n0, c0) VALUES (OLD.pkey * 4096 + OLD.vkey, OLD.vkey, OLD.c0); END;
/* s1 */ BEGIN;
/* s2 */ BEGIN;
/* s2 */ SELECT * FROM log1;
/* s1 */ DELETE FROM t1 WHERE c0 > 5;
/* s1 */ SELECT * FROM log1;
/* s1 */ COMMIT;
/* s2 */ SELECT * FROM log1;
/* s2 */ COMMIT;
/* s2 */ SELECT * FROM log1;
