--! format = 1
--! engine = "mariadb"
--! isolation = "REPEATABLE READ"
--! # FP; found by minimized cases that were exported
--! # status: no bug: a SELECT of a table that is not there takes no snapshot
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 INT);
/* init */ INSERT INTO t0 (pkey, c0) VALUES (1, 1);
/* s1 T1.1 */ START TRANSACTION READ ONLY;
/* s1 T1.2 */ SELECT t3.c0 FROM t3;         -- @error missing
/* s2 T2.1 */ UPDATE t0 SET c0 = 2 WHERE t0.pkey = 1; -- @got affected 1
/* s1 T1.3 */ SELECT t0.c0 FROM t0;         -- @got (2)
/* s1 T1.4 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (1, 2)
