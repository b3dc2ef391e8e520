--! format = 1
--! engine = "mariadb"
--! isolation = "REPEATABLE READ"
--! # FP; found by a run of 50,000 cases on MariaDB 10.11
--! # status: no bug: the UPDATE that waits reads the row key and gives no row another place
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT, c1 BIGINT);
/* init */ INSERT INTO t0 (pkey, vkey, c0, c1) VALUES (3, 3, 100, 2), (4, 4, 0, NULL);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ DELETE FROM t0 WHERE t0.pkey IN (1, 3); -- @got affected 1
/* s2 T2.1 */ START TRANSACTION;
/* s2 T2.2 */ UPDATE t0 SET vkey = 1006 WHERE t0.pkey IS NULL; -- @got affected 0
/* s2 T2.3 */ UPDATE t0 SET c1 = CASE WHEN t0.pkey = 0 THEN t0.pkey ELSE 1000 END, vkey = 1007 WHERE t0.pkey <= 6; -- @waits  @got affected 1
/* s2 T2.4 */ COMMIT;
/* s1 T1.3 */ DELETE FROM t0;               -- @got affected 1
/* s1 T1.4 */ UPDATE t0 SET vkey = 1009;    -- @got affected 0
/* s1 T1.5 */ REPLACE INTO t0 (pkey, vkey, c0) VALUES (4, 1010, 0); -- @got affected 1
/* s1 T1.6 */ COMMIT;                       -- @resumes s2
/* end */ SELECT * FROM t0;                 -- @got (4, 1007, 0, 1000)
