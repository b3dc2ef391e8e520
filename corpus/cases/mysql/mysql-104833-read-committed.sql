--! format = 1
--! engine = "mysql"
--! isolation = "READ COMMITTED"
--! known = "MySQL#104833"
--! # BUG; reported for MySQL 8.0.25
--! # bugs.mysql.com/104833; Troc cases/mysql104833.txt; Troc paper Fig.1
--! # status: not fixed (Verified, S2)
/* init */ CREATE TABLE t(a INT, b INT);
/* init */ INSERT INTO t VALUES(NULL, 1), (2, 2), (NULL, 3);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t SET a = 10;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ UPDATE t SET b = 20 WHERE a;  -- @got affected 2  @expect affected 3  @expect error serialization
/* s1 T1.3 */ COMMIT;
/* s2 T2.3 */ COMMIT;
/* s2 T3.1 */ SELECT * FROM t;              -- @got (10, 1) (10, 20) (10, 20)  @expect (10, 20) (10, 20) (10, 20)  @expect (10, 1) (10, 2) (10, 3)
