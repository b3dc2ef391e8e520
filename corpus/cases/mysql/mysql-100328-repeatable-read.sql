--! format = 1
--! engine = "mysql"
--! isolation = "REPEATABLE READ"
--! known = "MySQL#100328"
--! # BUG; reported for MySQL 5.6, 5.7, 8.0
--! # bugs.mysql.com/100328
--! # status: Verified S2, not fixed
/* init */ CREATE TABLE t1 (id int, name varchar(20));
/* init */ insert into t1 values(1,'abc');
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SELECT * FROM t1;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ SELECT * FROM t1;
/* s1 T1.3 */ UPDATE t1 SET name='xyz' WHERE id=1;
/* s1 T1.4 */ COMMIT;
/* s2 T2.3 */ UPDATE t1 SET name='xyz' WHERE id=1; -- @expect affected 0  @expect affected 1  @expect error serialization
/* s2 T2.4 */ SELECT * FROM t1;             -- @got (1, 'abc')  @expect (1, 'xyz')
/* s2 T2.5 */ COMMIT;
