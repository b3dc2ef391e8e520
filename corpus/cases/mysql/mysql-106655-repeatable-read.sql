--! format = 1
--! engine = "mysql"
--! isolation = "REPEATABLE READ"
--! known = "MySQL#106655"
--! # DUP; reported for MySQL 8.0.28
--! # DT2 cases/mysql106655.txt
--! # status: Duplicate
/* init */ CREATE TABLE t (c1 INT, c2 INT);
/* init */ INSERT INTO t(c1, c2) VALUES (1, 1), (2, 2);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SELECT * FROM t;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ DELETE FROM t WHERE c1=1;
/* s2 T2.3 */ COMMIT;
/* s1 T1.3 */ DELETE FROM t;                -- @expect affected 1  @expect error serialization
/* s1 T1.4 */ SELECT * FROM t;              -- @got (1, 1)  @expect empty
/* s1 T1.5 */ COMMIT;
