--! format = 1
--! engine = "mysql"
--! isolation = "READ COMMITTED"
--! # DESIGN; reported for MySQL 8.3.0
--! # bugs.mysql.com/114548
--! # status: Not a Bug
/* init */ CREATE TABLE t0 (k INT PRIMARY KEY, value INT);
/* init */ INSERT INTO t0 VALUES (1,20),(2,56);
/* init */ CREATE TABLE t1 (k INT PRIMARY KEY, value INT, c0 INT);
/* init */ INSERT INTO t1 VALUES (2,43,8),(3,57,53);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET value=162;
/* s1 T1.3 */ UPDATE t1 set c0=200 WHERE k=3;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ SELECT value FROM t1 WHERE c0 <= (SELECT MIN(value) FROM t0);
/* s2 T2.3 */ UPDATE t1 SET value=100 WHERE c0 <= (SELECT MIN(value) FROM t0); -- @expect affected 1  @expect error serialization
/* s1 T1.4 */ COMMIT;
/* s2 T2.4 */ COMMIT;
/* s2 T3.1 */ SELECT * FROM t1;             -- @expect (2, 100, 8) (3, 57, 200)  @expect (2, 43, 8) (3, 57, 200)
