--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#44200"
--! # OPEN; found by a run on TiDB 8.5.4 (unistore)
--! # status: TiDB#44200: two rows of one unique key share its entry; deleting the newer one hides the snapshot's row from a lookup by the key, and not from a scan
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, c0 DECIMAL(10,2));
/* init */ INSERT INTO t0 (pkey, c0) VALUES (3, 1.50);
/* s1 T1.1 */ START TRANSACTION;
/* s1 T1.2 */ DELETE FROM t0;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ DELETE FROM t0;               -- @waits
/* s1 T1.3 */ INSERT INTO t0 (pkey) VALUES (3);
/* s1 T1.4 */ COMMIT;                       -- @resumes s2
/* s2 T2.3 */ SELECT t0.c0 FROM t0 WHERE t0.pkey = 3; -- @got empty
/* s2 T2.4 */ SELECT * FROM t0;             -- @got (3, 1.50)
/* s2 T2.5 */ COMMIT;
/* end */ SELECT * FROM t0;
