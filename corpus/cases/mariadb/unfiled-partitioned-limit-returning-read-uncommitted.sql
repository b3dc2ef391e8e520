--! format = 1
--! engine = "mariadb"
--! isolation = "READ UNCOMMITTED"
--! known = "unfiled:mariadb-partitioned-limit"
--! # OPEN; found by Rashomon, on 10.11
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT) PARTITION BY HASH (pkey) PARTITIONS 3;
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (6, 12, 2);
/* s1 T1.1 */ UPDATE t0 SET vkey = 1004 WHERE pkey = 0 AND pkey IN (1); -- @got affected 0
/* s2 T2.1 */ DELETE FROM t0 ORDER BY pkey LIMIT 1 RETURNING c0; -- @got (2)
