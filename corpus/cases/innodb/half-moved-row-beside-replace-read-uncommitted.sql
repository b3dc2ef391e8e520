--! format = 1
--! engine = "mariadb"
--! isolation = "READ UNCOMMITTED"
--! # FP; found by a run of 50,000 cases on MariaDB 10.11
--! # status: no bug: the same beside a REPLACE, which could have removed the row
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL, vkey INT, c0 BIGINT NOT NULL PRIMARY KEY);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 20), (3, 3, 22);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET c0 = 1000, vkey = 1000 WHERE t0.pkey = 3; -- @got affected 1
/* s2 T2.1 */ UPDATE t0 SET c0 = 1000, vkey = 1002 WHERE t0.pkey = 1; -- @waits  @error duplicate
/* s1 T1.3 */ REPLACE INTO t0 (pkey, vkey) VALUES (9, 1001); -- @got affected 1
/* s1 T1.4 */ COMMIT;                       -- @resumes s2
/* end */ SELECT * FROM t0;                 -- @got (1, 1, 20) (3, 1000, 1000) (9, 1001, 0)
