--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#23966"
--! # DESIGN; reported for TiDB 4.0, 5.0
--! # tidb#23966
--! # status: closed (MySQL compatible)
/* init */ create table t (c1 int primary key, c2 int, index(c2));
/* init */ insert into t values (1,1);
/* s1 */ BEGIN;
/* s1 */ select * from t;
/* s1 */ update t set c1=2 where c1=1;
/* s2 */ BEGIN;
/* s2 */ select * from t;
/* s2 */ delete from t;                     -- @expect affected 1  @expect error serialization
/* s1 */ COMMIT;
/* s2 */ select * from t;                   -- @got (1, 1)  @expect empty
/* s2 */ COMMIT;
