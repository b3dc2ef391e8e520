--! format = 1
--! engine = "mariadb"
--! isolation = "REPEATABLE READ"
--! # FP; found by a minimizer that had no registry
--! # status: no bug: a READ ONLY transaction refuses every write and SELECT FOR UPDATE, before it looks for rows
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 INT);
/* init */ INSERT INTO t0 (pkey, c0) VALUES (1, 1);
/* s1 T1.1 */ START TRANSACTION READ ONLY;
/* s1 T1.2 */ DELETE FROM t0;               -- @error read-only
/* s1 T1.3 */ SELECT t0.c0 FROM t0 FOR UPDATE; -- @error read-only
/* s1 T1.4 */ SELECT t0.c0 FROM t0 WHERE t0.pkey = 1 LOCK IN SHARE MODE; -- @got (1)
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ INSERT INTO t0 (pkey, c0) VALUES (2, 2); -- @got affected 1
/* s2 T2.3 */ COMMIT;
/* s1 T1.5 */ INSERT INTO t0 (pkey, c0) VALUES (2, 3); -- @error read-only
/* s1 T1.6 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (1, 1) (2, 2)
