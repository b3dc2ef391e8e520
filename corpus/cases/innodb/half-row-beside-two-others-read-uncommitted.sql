--! format = 1
--! engine = "mariadb"
--! isolation = "READ UNCOMMITTED"
--! # FP; found by a run of 50,000 cases on MariaDB 10.11
--! # status: no bug: two REPLACEs wait, each with its row in the clustered index beside the row that stands
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, vkey INT, c0 BIGINT NOT NULL PRIMARY KEY);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (4, 3, 22);
/* s1 T1.1 */ START TRANSACTION WITH CONSISTENT SNAPSHOT;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1011, c0 = 1; -- @got affected 1
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ REPLACE INTO t0 (pkey, vkey, c0) VALUES (4, 1002, 2), (3, 9223372036854775807 + 1002, 0); -- @waits  @error data
/* s2 T2.3 */ COMMIT;                       -- @resumes s3
/* s3 T3.1 */ REPLACE INTO t0 (pkey, vkey) VALUES (4, 1010); -- @waits  @got affected 2
/* s1 T1.3 */ COMMIT;                       -- @resumes s2
/* end */ SELECT * FROM t0;                 -- @got (4, 1010, 0)
