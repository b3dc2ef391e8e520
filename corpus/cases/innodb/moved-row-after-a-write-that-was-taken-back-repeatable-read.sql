--! format = 1
--! engine = "mariadb"
--! isolation = "REPEATABLE READ"
--! oracle = "txcheck"
--! kind = "wrong-rows"
--! known = "MDEV-32898"
--! # BUG; found by a run of 20,000 cases on MariaDB 10.11, seen on MySQL 9.7, too
--! # status: the snapshot shows the row at its old place; what the reader wrote and took back before lies below the move
/* init */ CREATE TABLE t0 (vkey INT, c0 BIGINT NOT NULL PRIMARY KEY);
/* init */ INSERT INTO t0 (vkey, c0) VALUES (2, 21);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SAVEPOINT sp2;
/* s1 T1.3 */ UPDATE t0 SET vkey = 1009;    -- @got affected 1
/* s1 T1.4 */ ROLLBACK TO SAVEPOINT sp2;
/* s1 T1.5 */ SELECT * FROM t0;             -- @got (2, 21)
/* s2 T2.1 */ UPDATE t0 SET vkey = 1020, c0 = 0; -- @got affected 1
/* s1 T1.6 */ DELETE FROM t0;               -- @got affected 1
/* s1 T1.7 */ SELECT t0.c0 FROM t0;         -- @got (21)  @expect empty
/* s1 T1.8 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got empty
