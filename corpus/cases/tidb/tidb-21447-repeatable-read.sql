--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#21447"
--! # BUG; reported for TiDB <=4.0.8
--! # tidb#21447
--! # status: closed (fixed)
/* init */ CREATE TABLE t1 (id int primary key, name varchar(20));
/* init */ insert into t1 values(1,'abc');
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ select * from t1 where id = 1;
/* s1 T1.2 */ UPDATE t1 SET name='xyz' WHERE id=1;
/* s1 T1.3 */ COMMIT;
/* s2 T2.3 */ UPDATE t1 SET name='xyz' WHERE id=1; -- @expect affected 0  @expect affected 1  @expect error serialization
/* s2 T2.4 */ select * from t1;             -- @got (1, 'abc')  @expect (1, 'xyz')
/* s2 T2.5 */ select * from t1 where id = 1; -- @got (1, 'abc')  @expect (1, 'xyz')
/* s2 T2.6 */ COMMIT;
