--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#19136"
--! # BUG; reported for TiDB 4.0
--! # tidb#19136
--! # status: closed, fixed in 4.0.5 (by #19300)
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, vkey INT, c0 VARCHAR(16) NOT NULL);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c');
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1000;
/* s1 T1.3 */ SELECT t0.pkey, (SELECT r1.pkey FROM t0 AS r1 WHERE r1.c0 > t0.c0 ORDER BY r1.pkey LIMIT 1) FROM t0; -- @got (1, 2) (2, NULL) (3, NULL)  @expect (1, 2) (2, 3) (3, NULL)
/* s1 T1.4 */ COMMIT;
/* end */ SELECT * FROM t0;
