--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#21335"
--! # BUG; reported for TiDB 4.0
--! # tidb#21335
--! # status: open
/* init */ create table t(a int primary key, b int);
/* init */ create view v as select a, b from t;
/* init */ insert into t values(1,2),(2,3);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ BEGIN;
/* s1 T1.2 */ update t set b = 12 where a = 1;
/* s2 T2.2 */ select * from v where a < 2 for update; -- @got (1, 2)  @expect waits  @expect (1, 12)
/* s1 T1.3 */ COMMIT;
/* s2 T2.3 */ COMMIT;
