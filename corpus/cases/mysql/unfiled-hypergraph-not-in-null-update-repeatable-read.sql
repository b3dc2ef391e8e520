--! format = 1
--! engine = "mysql"
--! isolation = "REPEATABLE READ"
--! known = "unfiled:mysql-hypergraph-not-in-null"
--! # OPEN; found by Rashomon, on 9.7
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 TEXT);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (23, 4, 'b');
/* s1 */ BEGIN;
/* s1 */ INSERT INTO t0 (pkey, vkey) VALUES (0, 1005), (1, 1006);
/* s1 */ ROLLBACK;
/* s1 */ SET SESSION optimizer_switch = 'hypergraph_optimizer=on';
/* s1 */ UPDATE t0 SET vkey = 1001 WHERE pkey NOT IN (0, NULL); -- @got affected 1  @expect affected 0
/* end */ SELECT * FROM t0;                 -- @got (23, 1001, 'b')  @expect (23, 4, 'b')
