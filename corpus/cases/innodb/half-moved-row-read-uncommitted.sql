--! format = 1
--! engine = "mariadb"
--! isolation = "READ UNCOMMITTED"
--! # FP; found by a run of 50,000 cases on MariaDB 10.11
--! # status: no bug: an UPDATE that waits for its new clustered key has removed the row from its old place already, and puts it back
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL, vkey INT, c0 BIGINT NOT NULL PRIMARY KEY);
/* init */ CREATE INDEX i_t1_pkey ON t0 (pkey);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (6, 4, 23), (9, 6, 25);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1000, c0 = 3 WHERE t0.pkey = 6; -- @got affected 1
/* s2 T2.1 */ UPDATE t0 SET c0 = 3, vkey = 1003 WHERE t0.pkey = 9; -- @waits  @error duplicate
/* s1 T1.3 */ DELETE FROM t0 WHERE t0.pkey = 0; -- @got affected 0
/* s1 T1.4 */ COMMIT;                       -- @resumes s2
/* end */ SELECT * FROM t0;                 -- @got (6, 1000, 3) (9, 6, 25)
