--! format = 1
--! engine = "mysql"
--! isolation = "READ COMMITTED"
--! known = "MySQL#105042"
--! # DESIGN; reported for MySQL 8.0
--! # bugs.mysql.com/105042
--! # status: documentation bug (Verified)
/* init */ create table t(a int, b int);
/* init */ insert into t values(null, 1), (null, 2), (null, 3);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ update t set a = 10;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ update t set b = 20 where a;  -- @got affected 0  @expect affected 3  @expect error serialization
/* s1 T1.3 */ COMMIT;
/* s2 T2.3 */ COMMIT;
/* s2 T3.1 */ SELECT * FROM t;              -- @got (10, 1) (10, 2) (10, 3)  @expect (10, 20) (10, 20) (10, 20)
