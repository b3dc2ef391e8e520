--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#44379"
--! # DESIGN; reported for TiDB 6.5.0
--! # tidb#44379
--! # status: open
/* init */ create table t0 (a int);
/* init */ insert into t0 values (1);
/* init */ insert into t0 values (2);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ delete from t0 where a=1;
/* s1 T1.2 */ delete from t0 where a=2;     -- @expect affected 1
/* s2 T2.3 */ COMMIT;
/* s1 T1.3 */ select * from t0 where a=1;   -- @got (1)  @expect empty
/* s1 T1.4 */ COMMIT;
