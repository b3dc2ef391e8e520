--! format = 1
--! engine = "tidb"
--! isolation = "READ COMMITTED"
--! known = "TiDB#41581"
--! # BUG; reported for TiDB 6.0.0, 6.1.x
--! # tidb#41581
--! # status: fixed by tidb PR 41590
/* init */ create table t(a int primary key, b int);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ insert into t values(5, 5);
/* s1 T1.2 */ update t set b = 22 where a = 5; -- @got affected 0  @expect affected 1
/* s1 T1.3 */ COMMIT;
/* s1 T3.1 */ SELECT * FROM t;              -- @got (5, 5)  @expect (5, 22)
