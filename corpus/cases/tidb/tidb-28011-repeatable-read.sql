--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#28011"
--! # BUG; reported for TiDB 5.0-5.4
--! # tidb#28011
--! # status: closed, fixed 5.x (by #26759)
/* init */ create table t1(c_int int, c_str varchar(40), unique key uk(c_int));
/* init */ insert into t1 (c_int, c_str) values (6, 'relaxed chatelet');
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ update t1 set c_int = c_int + 5, c_str = 'dreamy taussig' where (c_int, c_str) in ((6, 'frosty hopper'), (6, 'funny sutherland')); -- @expect affected 0
/* s1 T1.3 */ select c_int from t1;         -- @got empty  @expect (6)
/* s1 T1.4 */ select c_int, c_str from t1;  -- @expect (6, 'relaxed chatelet')
/* s1 T1.5 */ COMMIT;
