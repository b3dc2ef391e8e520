--! format = 1
--! engine = "tidb"
--! isolation = "READ COMMITTED"
--! known = "unfiled:tidb-unistore-orphan"
--! # OPEN; found by hand on TiDB 8.5.4 (unistore)
--! # status: the DELETE of a parent that waited for a new child goes on as if there were none; TiDB manual, "FOREIGN KEY Constraints"
/* init */ CREATE TABLE t0 (pkey BIGINT PRIMARY KEY, vkey INT);
/* init */ CREATE TABLE t1 (pkey BIGINT PRIMARY KEY, vkey INT, c0 BIGINT, FOREIGN KEY (c0) REFERENCES t0 (pkey) ON DELETE CASCADE);
/* init */ INSERT INTO t0 (pkey, vkey) VALUES (1, 1), (2, 2);
/* init */ INSERT INTO t1 (pkey, vkey, c0) VALUES (12, 3, 2);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t1 SET vkey = 1000, c0 = 1 WHERE pkey = 12; -- @got affected 1
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ DELETE FROM t0 WHERE pkey = 1; -- @waits  @got affected 1
/* s1 T1.3 */ COMMIT;                       -- @resumes s2
/* s2 T2.3 */ COMMIT;
/* end */ SELECT * FROM t1;                 -- @got (12, 1000, 1)  @expect empty
