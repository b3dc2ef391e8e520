--! format = 1
--! engine = "mariadb"
--! isolation = "READ UNCOMMITTED"
--! # FP; found by a run of 50,000 cases on MariaDB 10.11
--! # status: no bug: an INSERT that waits for the unique index on pkey stands in the clustered index already, beside the row of the transaction that it waits for
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, vkey INT, c0 BIGINT NOT NULL PRIMARY KEY);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (7, 18, 25);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ DELETE FROM t0;               -- @got affected 1
/* s2 T2.1 */ INSERT INTO t0 (pkey, vkey, c0) VALUES (7, 1005, 1); -- @waits  @error duplicate
/* s1 T1.3 */ INSERT INTO t0 (pkey, vkey, c0) VALUES (7, 1012, 46), (12, 1012, 0); -- @got affected 2
/* s1 T1.4 */ COMMIT;                       -- @resumes s2
/* end */ SELECT * FROM t0;                 -- @got (7, 1012, 46) (12, 1012, 0)
