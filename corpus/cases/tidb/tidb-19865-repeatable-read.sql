--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#19865"
--! # OPEN; reported for TiDB 3.0, 4.0
--! # tidb#19865 (tail shortened)
--! # status: open
/* init */ create table t1 (id int primary key , a int);
/* init */ create table t2 (a int);
/* init */ insert into t1 values (1, 0);
/* init */ insert into t2 values (0);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ BEGIN;
/* s1 T1.2 */ update t1 set a = a + 1 where id = 1;
/* s2 T2.2 */ select a as total from t1 where id = 1 for update; -- @got (0)  @expect (1)  @expect error serialization
/* s1 T1.3 */ COMMIT;
/* s2 T2.3 */ update t1 set a = a + 1 where id = 1; -- @expect affected 1
/* s2 T2.4 */ select * from t1;             -- @got (1, 1)  @expect (1, 2)
/* s2 T2.5 */ COMMIT;
