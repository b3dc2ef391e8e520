--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#28212"
--! # DESIGN; reported for TiDB all (5.2.1)
--! # tidb#28212
--! # status: open
/* init */ create table t(a int, b int);
/* init */ insert into t values (0, 0), (1, 1), (2, 2);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ select * from t;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ update t set a = 10 where b = 1;
/* s2 T2.3 */ COMMIT;
/* s1 T1.3 */ select * from t;
/* s1 T1.4 */ update t set a = 10 where true; -- @expect affected 2  @expect affected 3  @expect error serialization
/* s1 T1.5 */ select * from t;              -- @got (10, 0) (1, 1) (10, 2)  @expect (10, 0) (10, 1) (10, 2)
/* s1 T1.6 */ COMMIT;
