--! format = 1
--! engine = "mysql"
--! isolation = "READ COMMITTED"
--! known = "unfiled:mysql-hypergraph-update-limit"
--! # OPEN; found by Rashomon, on 9.7
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, vkey INT);
/* init */ INSERT INTO t0 (pkey, vkey) VALUES (4, 10);
/* s1 */ BEGIN;
/* s1 */ UPDATE t0 SET vkey = 1001;
/* s2 */ SET SESSION optimizer_switch = 'hypergraph_optimizer=on';
/* s2 */ UPDATE t0 SET vkey = 1002 ORDER BY pkey LIMIT 1; -- @got affected 0  @expect affected 1
/* s1 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (4, 1001)  @expect (4, 1002)
