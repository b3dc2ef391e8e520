--! format = 1
--! engine = "mysql"
--! isolation = "SERIALIZABLE"
--! known = "MySQL#119490"
--! # OPEN; reported for MySQL 8.0.41: locks that were taken after an early savepoint are gone
--! # bugs.mysql.com/119490
--! # status: open; found by Rashomon, too
/* init */ CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT);
/* init */ INSERT INTO t VALUES (1, 1);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SAVEPOINT a;
/* s1 T1.3 */ SELECT * FROM t LOCK IN SHARE MODE; -- @got (1, 1)
/* s2 T2.1 */ UPDATE t SET vkey = 1001;     -- @waits  @got affected 1
/* s1 T1.4 */ ROLLBACK TO SAVEPOINT a;      -- @resumes s2
/* s1 T1.5 */ SELECT * FROM t;              -- @got (1, 1001)  @expect (1, 1)
/* s1 T1.6 */ COMMIT;
