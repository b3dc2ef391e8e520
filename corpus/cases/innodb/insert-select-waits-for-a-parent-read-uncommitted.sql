--! format = 1
--! engine = "mariadb"
--! isolation = "READ UNCOMMITTED"
--! # FP; found on MariaDB 11.8: the INSERT reads c1 = 0.75, which is not committed, and then waits for the row of
--! # t1 that it refers to; the value was told as wrong, because the row was looked at as it is after the wait
--! # status: -
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c1 DECIMAL(10,2));
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 DECIMAL(10,2), c2 BIGINT NOT NULL, FOREIGN KEY (c2) REFERENCES t1 (pkey));
/* init */ INSERT INTO t1 (pkey, vkey, c1) VALUES (1, 1, 2.25);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t1 SET vkey = 1002, c1 = 0.75; -- @got affected 1
/* s2 T2.1 */ INSERT INTO t0 (pkey, c0, c2) SELECT r1.pkey + 8192, r1.c1, 1 FROM t1 AS r1; -- @blocks s1  @got affected 1
/* s1 T1.3 */ ROLLBACK;                     -- @resumes s2
/* end */ SELECT * FROM t0;                 -- @got (8193, 0.75, 1)
/* end */ SELECT * FROM t1;                 -- @got (1, 1, 2.25)
