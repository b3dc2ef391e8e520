--! format = 1
--! engine = "mysql"
--! isolation = "SERIALIZABLE"
--! known = "MySQL#119801"
--! # OPEN; reported for MySQL 5.6.41-9.6.0
--! # bugs.mysql.com/119801; here the row that is moved is one that its transaction has put in itself
--! # status: open (Need Feedback, 2026)
/* init */ CREATE TABLE t (pkey INT NOT NULL UNIQUE, x INT, c0 INT PRIMARY KEY);
/* init */ INSERT INTO t (pkey, x, c0) VALUES (1, 0, 1), (3, 0, 99);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ INSERT INTO t (pkey, x, c0) VALUES (2, 0, 50);
/* s2 T2.1 */ UPDATE t SET x = 7 WHERE pkey = 2; -- @blocks s1  @got affected 0  @expect affected 1  @expect error deadlock
/* s1 T1.3 */ UPDATE t SET c0 = 40 WHERE pkey = 2;
/* s1 T1.4 */ COMMIT;                       -- @resumes s2
