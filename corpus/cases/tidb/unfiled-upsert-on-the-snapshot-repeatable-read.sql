--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "unfiled:tidb-upsert-on-the-snapshot"
--! # OPEN; found by Rashomon, on 8.5.4 (unistore)
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT UNIQUE);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 8, 21), (7, 11, 24);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ DELETE FROM t0;               -- @got affected 2
/* s1 T1.2 */ INSERT INTO t0 (pkey, vkey) VALUES (3, 1014), (7, 1014) ON DUPLICATE KEY UPDATE c0 = 0, vkey = 1014; -- @error duplicate  @expect affected 2  @wrong-effect t0
/* s1 T1.3 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got empty
