--! format = 1
--! engine = "mariadb"
--! isolation = "SERIALIZABLE"
--! # FP; found by a run of 50,000 cases on MariaDB 11.8
--! # status: no bug: the deadlock undoes the DELETE, and the UPDATE that waits has nothing to do with the row
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, c0 INT);
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL, vkey INT, c0 BIGINT NOT NULL PRIMARY KEY);
/* init */ CREATE INDEX i_t2_pkey ON t0 (pkey);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (2, 9, 20), (9, 15, 26);
/* s1 T1.1 */ START TRANSACTION WITH CONSISTENT SNAPSHOT;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1001 WHERE t0.pkey = 17; -- @got affected 0
/* s2 T2.1 */ START TRANSACTION;
/* s2 T2.2 */ SELECT t1.c0 FROM t1;         -- @got empty
/* s2 T2.3 */ UPDATE t0 SET vkey = 1006, c0 = 41 WHERE t0.pkey = 9; -- @waits  @got affected 1
/* s2 T2.4 */ COMMIT;
/* s1 T1.3 */ DELETE FROM t0 WHERE t0.pkey = 2; -- @got affected 1
/* s1 T1.4 */ INSERT INTO t1 (pkey) VALUES (5); -- @resumes s2  @error deadlock
/* s1 T1.5 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (2, 9, 20) (9, 1006, 41)
/* end */ SELECT * FROM t1;                 -- @got empty
