--! format = 1
--! engine = "mysql"
--! isolation = "READ UNCOMMITTED"
--! oracle = "txcheck"
--! kind = "wrong-affected"
--! known = "MySQL#119801"
--! # BUG; found by a run of 8,000 cases on MySQL 9.7
--! # status: the row is moved in the index that the foreign key has made, while the UPDATE that scans it waits
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c1 BIGINT UNSIGNED);
/* init */ CREATE UNIQUE INDEX i_t1_x1 ON t1 (c1);
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c1 VARCHAR(16) COLLATE `utf8mb4_unicode_ci`, c0 BIGINT UNSIGNED, FOREIGN KEY (c0) REFERENCES t1 (c1));
/* init */ INSERT INTO t1 (pkey, vkey, c1) VALUES (2, 1, 20), (4, 3, 22);
/* init */ INSERT INTO t0 (pkey, vkey, c1, c0) VALUES (2, 10, NULL, 22), (6, 13, ' ', 20);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ DELETE FROM t0 WHERE t0.pkey = 6; -- @got affected 1
/* s2 T2.1 */ UPDATE t0 SET vkey = 1000 WHERE t0.c0 > 0; -- @blocks s1  @got affected 0  @expect affected 1
/* s1 T1.3 */ UPDATE t0 SET vkey = 1003, c0 = 20; -- @got affected 1
/* s1 T1.4 */ COMMIT;                       -- @resumes s2
