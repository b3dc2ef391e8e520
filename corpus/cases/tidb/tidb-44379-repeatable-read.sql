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
/* s1 */ BEGIN;
/* s2 */ BEGIN;
/* s2 */ delete from t0 where a=1;
/* s1 */ delete from t0 where a=2;          -- @expect affected 1
/* s2 */ COMMIT;
/* s1 */ select * from t0 where a=1;        -- @got (1)  @expect empty
/* s1 */ COMMIT;
