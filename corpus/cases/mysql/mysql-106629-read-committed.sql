--! format = 1
--! engine = "mysql"
--! isolation = "READ COMMITTED"
--! known = "MySQL#106629"
--! # FP; reported for MySQL 8.0.28
--! # DT2 README
--! # status: closed: false positive
/* init */ CREATE TABLE t(c1 INT PRIMARY KEY);
/* init */ INSERT INTO t(c1) VALUES (8);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t SET c1=5;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ DELETE FROM t;                -- @got affected 0  @expect affected 1  @expect error serialization  @expect error deadlock
/* s1 T1.3 */ UPDATE t SET c1=3;
/* s1 T1.4 */ COMMIT;
/* s2 T2.3 */ SELECT * FROM t FOR UPDATE;   -- @got (3)  @expect empty
/* s2 T2.4 */ COMMIT;
