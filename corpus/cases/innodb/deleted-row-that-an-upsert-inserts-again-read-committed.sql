--! format = 1
--! engine = "mariadb"
--! isolation = "READ COMMITTED"
--! # FP; found by a run of 50,000 cases on MariaDB 11.8
--! # status: no bug: the upsert that waits inserts the row that was deleted meanwhile
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY);
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, vkey INT, c0 BIGINT NOT NULL PRIMARY KEY);
/* init */ INSERT INTO t1 (pkey) VALUES (2);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (2, 7, 20);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ INSERT INTO t0 (pkey, vkey) VALUES (13, 1011); -- @got affected 1
/* s2 T2.1 */ INSERT INTO t0 (pkey, vkey) VALUES (9, 1008), (2, 1008) ON DUPLICATE KEY UPDATE c0 = 1, vkey = 1008; -- @waits  @got affected 3
/* s1 T1.3 */ DELETE FROM t0 WHERE t0.pkey IN (SELECT t1.pkey FROM t1); -- @got affected 1
/* s1 T1.4 */ COMMIT;                       -- @resumes s2
/* end */ SELECT * FROM t0;                 -- @got (2, 1008, 0) (13, 1008, 1)
/* end */ SELECT * FROM t1;                 -- @got (2)
