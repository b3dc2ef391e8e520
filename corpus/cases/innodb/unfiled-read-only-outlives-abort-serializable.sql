--! format = 1
--! engine = "mariadb"
--! isolation = "SERIALIZABLE"
--! known = "unfiled:read-only-outlives-abort"
--! # OPEN; found by Rashomon, on MariaDB 10.11 and 11.8 and MySQL 9.7
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT);
/* init */ INSERT INTO t0 (pkey, vkey) VALUES (1, 1), (2, 2);
/* s1 T1.1 */ START TRANSACTION READ ONLY;
/* s1 T1.2 */ SELECT * FROM t0 WHERE pkey = 1; -- @got (1, 1)
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ INSERT INTO t0 (pkey, vkey) VALUES (5, 1000), (6, 1000), (7, 1000); -- @got affected 3
/* s2 T2.3 */ UPDATE t0 SET vkey = 1001 WHERE pkey = 2; -- @got affected 1
/* s2 T2.4 */ UPDATE t0 SET vkey = 1002 WHERE pkey = 1; -- @waits  @got affected 1
/* s1 T1.3 */ SELECT * FROM t0 WHERE pkey = 2; -- @resumes s2  @error deadlock
/* s2 T2.5 */ COMMIT;
/* s1 T1.4 */ COMMIT;
/* s1 T3.1 */ UPDATE t0 SET vkey = 1003 WHERE pkey = 1; -- @error read-only  @expect affected 1
/* s1 T4.1 */ BEGIN;
/* s1 T4.2 */ SELECT vkey FROM t0 WHERE pkey = 1; -- @got (1002)
/* s1 T4.3 */ COMMIT;
/* s1 T5.1 */ UPDATE t0 SET vkey = 1004 WHERE pkey = 1; -- @got affected 1
