--! format = 1
--! engine = "mariadb"
--! isolation = "READ COMMITTED"
--! # FP; found by Rashomon
--! # status: no bug: the count of an INSERT says nothing of the rows that its trigger deletes
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY);
/* init */ CREATE TABLE t2 (pkey BIGINT NOT NULL UNIQUE);
/* init */ INSERT INTO t2 (pkey) VALUES (8);
/* init */ CREATE TRIGGER tg1 AFTER INSERT ON t1 FOR EACH ROW DELETE FROM t2 WHERE pkey = NEW.pkey;
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ INSERT INTO t2 (pkey) VALUES (6); -- @got affected 1
/* s2 T2.1 */ DELETE FROM t2;               -- @blocks s1  @got affected 1
/* s1 T1.3 */ INSERT INTO t1 (pkey) VALUES (8); -- @got affected 1
/* s1 T1.4 */ COMMIT;                       -- @resumes s2
/* end */ SELECT * FROM t1;                 -- @got (8)
/* end */ SELECT * FROM t2;                 -- @got empty
