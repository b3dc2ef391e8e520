--! format = 1
--! engine = "mariadb"
--! isolation = "READ UNCOMMITTED"
--! # FP; found by a run of 50,000 cases on MariaDB 11.8
--! # status: no bug: the DELETE comes after the UPDATE that it waits for, though one release wakes both
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT);
/* init */ INSERT INTO t0 (pkey, vkey) VALUES (1, 1), (2, 2);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1009;    -- @got affected 2
/* s2 T2.1 */ UPDATE t0 SET vkey = 1006;    -- @waits  @got affected 2  @resumes s4
/* s3 T3.1 */ START TRANSACTION;
/* s3 T3.2 */ UPDATE t0 SET vkey = 1002 WHERE t0.pkey IN (2); -- @waits  @got affected 1
/* s3 T3.3 */ COMMIT;                       -- @resumes s2
/* s4 T4.1 */ DELETE FROM t0 WHERE t0.pkey = 1; -- @waits  @got affected 1
/* s1 T1.3 */ COMMIT;                       -- @resumes s3
/* end */ SELECT * FROM t0;                 -- @got (2, 1006)
