--! format = 1
--! engine = "mysql"
--! isolation = "REPEATABLE READ"
--! known = "MySQL#119490"
--! # OPEN; reported for MySQL 8.0.41: locks that were taken after an early savepoint are gone
--! # bugs.mysql.com/119490
--! # status: open; found by Rashomon, too. The transaction's snapshot is gone as well
/* init */ CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT);
/* init */ INSERT INTO t VALUES (1, 1);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SAVEPOINT a;
/* s1 T1.3 */ SELECT * FROM t;              -- @got (1, 1)
/* s2 T2.1 */ UPDATE t SET vkey = 1001;     -- @got affected 1
/* s1 T1.4 */ ROLLBACK TO SAVEPOINT a;
/* s1 T1.5 */ SELECT * FROM t;              -- @got (1, 1001)  @expect (1, 1)
/* s1 T1.6 */ COMMIT;
