--! format = 1
--! engine = "mariadb"
--! isolation = "SERIALIZABLE"
--! # FP; found on MariaDB 10.11: the row that the UPDATE changed in t1 was laid at the door of the REPLACE that waits,
--! # because a column of the same name is assigned in t0
--! # status: -
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, c0 INT, c1 VARCHAR(16));
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 INT);
/* init */ INSERT INTO t1 (pkey, c0, c1) VALUES (5, 13, '10');
/* init */ INSERT INTO t0 (pkey, c0) VALUES (4, 19), (5, 20);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ INSERT INTO t1 (pkey) SELECT r1.pkey + 4096 FROM t0 AS r1 WHERE r1.pkey = 5; -- @got affected 1
/* s2 T2.1 */ START TRANSACTION WITH CONSISTENT SNAPSHOT;
/* s2 T2.2 */ UPDATE t0 JOIN t1 ON t0.pkey = t1.pkey SET t0.c0 = 0, t1.c1 = ''; -- @blocks s1  @got affected 2
/* s2 T2.3 */ COMMIT;                       -- @resumes s3
/* s3 T3.1 */ REPLACE INTO t1 (pkey) VALUES (3); -- @blocks s2  @got affected 1
/* s1 T1.3 */ COMMIT;                       -- @resumes s2
/* end */ SELECT * FROM t0;                 -- @got (4, 19) (5, 0)
/* end */ SELECT * FROM t1;                 -- @got (3, NULL, NULL) (5, 13, '') (4101, NULL, NULL)
