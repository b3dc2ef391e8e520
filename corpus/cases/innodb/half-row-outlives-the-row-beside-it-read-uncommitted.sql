--! format = 1
--! engine = "mariadb"
--! isolation = "READ UNCOMMITTED"
--! # FP; found by a run of 50,000 cases on MariaDB 10.11
--! # status: no bug: the row beside the half row is deleted, comes back, and is deleted again
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, vkey INT, c0 BIGINT NOT NULL PRIMARY KEY);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 20);
/* s1 T1.1 */ START TRANSACTION WITH CONSISTENT SNAPSHOT;
/* s1 T1.2 */ UPDATE t0 SET c0 = 1, vkey = 1000; -- @got affected 1
/* s2 T2.1 */ START TRANSACTION;
/* s2 T2.2 */ DELETE FROM t0 WHERE t0.pkey = 1; -- @waits  @got affected 1
/* s2 T2.3 */ COMMIT;                       -- @resumes s3
/* s3 T3.1 */ REPLACE INTO t0 (pkey, vkey) VALUES (1, 1006), (9, 9223372036854775807 + 1006); -- @waits  @error data
/* s1 T1.3 */ SAVEPOINT sp2;
/* s1 T1.4 */ DELETE FROM t0 WHERE t0.pkey = 1; -- @got affected 1
/* s1 T1.5 */ ROLLBACK TO SAVEPOINT sp2;
/* s1 T1.6 */ COMMIT;                       -- @resumes s2
/* end */ SELECT * FROM t0;                 -- @got empty
