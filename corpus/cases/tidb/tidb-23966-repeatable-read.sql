--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#23966"
--! # DESIGN; reported for TiDB 4.0, 5.0
--! # tidb#23966
--! # status: closed (MySQL compatible)
/* init */ create table t (c1 int primary key, c2 int, index(c2));
/* init */ insert into t values (1,1);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ select * from t;
/* s1 T1.3 */ update t set c1=2 where c1=1;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ select * from t;
/* s2 T2.3 */ delete from t;                -- @expect affected 1  @expect error serialization
/* s1 T1.4 */ COMMIT;
/* s2 T2.4 */ select * from t;              -- @got (1, 1)  @expect empty
/* s2 T2.5 */ COMMIT;
