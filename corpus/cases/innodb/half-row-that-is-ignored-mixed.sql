--! format = 1
--! engine = "mariadb"
--! isolation = { s1 = "READ UNCOMMITTED", s2 = "REPEATABLE READ", s3 = "READ COMMITTED" }
--! # FP; found by a run of 1,500 cases on MariaDB 11.8
--! # status: no bug: the INSERT IGNORE takes its own row back where another has the key
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, vkey INT, c0 BIGINT NOT NULL PRIMARY KEY);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (2, 2, 21);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1000 ORDER BY t0.pkey LIMIT 1; -- @got affected 1
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ COMMIT;
/* s3 T3.1 */ INSERT IGNORE INTO t0 (pkey, vkey) VALUES (2, 1007); -- @waits  @got affected 0
/* s1 T1.3 */ COMMIT;                       -- @resumes s3
/* end */ SELECT * FROM t0;                 -- @got (2, 1000, 21)
