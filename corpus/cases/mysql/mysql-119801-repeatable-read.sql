--! format = 1
--! engine = "mysql"
--! isolation = "REPEATABLE READ"
--! known = "MySQL#119801"
--! # OPEN; reported for MySQL 5.6.41-9.6.0
--! # bugs.mysql.com/119801
--! # status: open (Need Feedback, 2026)
/* init */ CREATE TABLE t(x INT DEFAULT 0, c0 INT PRIMARY KEY, c1 INT);
/* init */ INSERT INTO t VALUES (0, 1, 1), (0, 99, 2);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t SET c0=37 WHERE c1=2;
/* s2 T2.2 */ UPDATE t SET x = x + 10;      -- @blocks s1  @expect affected 2  @expect error serialization
/* s1 T1.3 */ COMMIT;                       -- @resumes s2
/* s2 T2.3 */ SELECT * FROM t;              -- @got (10, 1, 1) (0, 99, 2) (10, 37, 2)  @expect (10, 1, 1) (10, 37, 2)
/* s2 T2.4 */ COMMIT;
/* s2 T3.1 */ SELECT * FROM t;              -- @expect (10, 1, 1) (10, 37, 2)  @expect (0, 1, 1) (0, 37, 2)
