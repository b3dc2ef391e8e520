--! format = 1
--! engine = "mysql"
--! isolation = "REPEATABLE READ"
--! known = "MySQL#119577"
--! # DESIGN; reported for MySQL 8.x
--! # bugs.mysql.com/119577
--! # status: user error
/* init */ CREATE TABLE t (a INT PRIMARY KEY, b INT);
/* init */ INSERT INTO t VALUES (1, 2);
/* init */ INSERT INTO t VALUES (2, 4);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
/* s2 T2.3 */ DELETE FROM t WHERE a = 1;
/* s1 T1.3 */ SELECT * FROM t WHERE a = 1;  -- @got (1, 2)  @expect empty
/* s2 T2.4 */ COMMIT;
/* s1 T1.4 */ SELECT * FROM t WHERE a = 1;  -- @got (1, 2)  @expect empty
/* s1 T1.5 */ COMMIT;
