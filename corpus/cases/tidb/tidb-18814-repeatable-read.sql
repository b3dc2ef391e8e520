--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#18814"
--! # BUG; reported for TiDB 4.0
--! # tidb#18814 (the pull request)
--! # status: fixed in 4.0.4
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, vkey INT, c0 INT);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (4, 1, 23), (5, 2, 24);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SELECT t0.c0 FROM t0 WHERE t0.pkey IN (4, 9);
/* s1 T1.3 */ SELECT t0.c0 FROM t0 WHERE t0.pkey IN (4, 5); -- @got (24) (24)  @expect (23) (24)
/* s1 T1.4 */ COMMIT;
/* end */ SELECT * FROM t0;
