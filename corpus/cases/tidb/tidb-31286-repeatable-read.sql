--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#31286"
--! # BUG; found by a run on TiDB 8.5.4, too
--! # tidb#31286
--! # status: open
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 ENUM('a', 'b', 'ab'));
/* init */ CREATE INDEX i_t0_0 ON t0 (c0);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (2, 2, 'ab'), (10, 7, 'ab');
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1007, c0 = 'b' WHERE t0.pkey = 10; -- @got affected 1
/* s1 T1.3 */ SELECT t0.pkey, RANK() OVER (ORDER BY t0.c0) FROM t0; -- @got (2, 1) (10, 2)  @expect (2, 2) (10, 1)
/* s1 T1.4 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (2, 2, 'ab') (10, 1007, 'b')
