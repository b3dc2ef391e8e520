--! format = 1
--! engine = "mariadb"
--! isolation = "SERIALIZABLE"
--! # FP; found by Rashomon
--! # status: no bug: an INSERT that waits has not fired its trigger
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY);
/* init */ CREATE TABLE t2 (pkey BIGINT NOT NULL UNIQUE);
/* init */ INSERT INTO t2 (pkey) VALUES (8);
/* init */ CREATE TRIGGER tg1 AFTER INSERT ON t1 FOR EACH ROW DELETE FROM t2 WHERE pkey = NEW.pkey;
/* s1 */ BEGIN;
/* s1 */ DELETE FROM t1;
/* s2 */ INSERT INTO t1 (pkey) VALUES (6), (6); -- @waits  @error duplicate
/* s1 */ INSERT INTO t1 (pkey) VALUES (8);
/* s1 */ COMMIT;
