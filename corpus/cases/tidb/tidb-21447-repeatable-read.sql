--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#21447"
--! # BUG; reported for TiDB <=4.0.8
--! # tidb#21447
--! # status: closed (fixed)
/* init */ CREATE TABLE t1 (id int primary key, name varchar(20));
/* init */ insert into t1 values(1,'abc');
/* s1 */ BEGIN;
/* s2 */ BEGIN;
/* s2 */ select * from t1 where id = 1;
/* s1 */ UPDATE t1 SET name='xyz' WHERE id=1;
/* s1 */ COMMIT;
/* s2 */ UPDATE t1 SET name='xyz' WHERE id=1; -- @expect affected 0  @expect affected 1  @expect error serialization
/* s2 */ select * from t1;                  -- @got (1, 'abc')  @expect (1, 'xyz')
/* s2 */ select * from t1 where id = 1;     -- @got (1, 'abc')  @expect (1, 'xyz')
/* s2 */ COMMIT;
