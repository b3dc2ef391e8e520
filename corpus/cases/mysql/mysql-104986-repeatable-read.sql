--! format = 1
--! engine = "mysql"
--! isolation = "REPEATABLE READ"
--! known = "MySQL#104986"
--! # DUP; reported for MySQL 8.0.25
--! # bugs.mysql.com/104986; Troc case
--! # status: Duplicate
/* init */ CREATE TABLE t(a int, b int);
/* init */ INSERT INTO t VALUES(0, 0), (1, 1), (2, 2);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SELECT * FROM t;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ UPDATE t SET a = 10 WHERE b = 1;
/* s2 T2.3 */ COMMIT;
/* s1 T1.3 */ SELECT * FROM t;
/* s1 T1.4 */ UPDATE t SET a = 10;          -- @expect affected 2  @expect affected 3  @expect error serialization
/* s1 T1.5 */ SELECT * FROM t;              -- @got (10, 0) (1, 1) (10, 2)  @expect (10, 0) (10, 1) (10, 2)
/* s1 T1.6 */ COMMIT;
