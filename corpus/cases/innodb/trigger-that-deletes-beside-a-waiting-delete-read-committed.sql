--! format = 1
--! engine = "mariadb"
--! isolation = "READ COMMITTED"
--! # FP; found by Rashomon
--! # status: no bug: the count of an INSERT says nothing of the rows that its trigger deletes
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY);
/* init */ CREATE TABLE t2 (pkey BIGINT NOT NULL UNIQUE);
/* init */ INSERT INTO t2 (pkey) VALUES (8);
/* init */ CREATE TRIGGER tg1 AFTER INSERT ON t1 FOR EACH ROW DELETE FROM t2 WHERE pkey = NEW.pkey;
/* s1 */ BEGIN;
/* s1 */ INSERT INTO t2 (pkey) VALUES (6);
/* s2 */ DELETE FROM t2;
/* s1 */ INSERT INTO t1 (pkey) VALUES (8);
/* s1 */ COMMIT;
