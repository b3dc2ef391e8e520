--! format = 1
--! engine = "mariadb"
--! isolation = "SERIALIZABLE"
--! known = "unfiled:mariadb-partitioned-limit"
--! # OPEN; found by Rashomon, on 10.5, 10.11 and 11.8
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 INT) PARTITION BY HASH (pkey) PARTITIONS 3;
/* init */ INSERT INTO t0 (pkey, c0) VALUES (1, 0);
/* s2 T1.1 */ BEGIN;
/* s2 T1.2 */ SELECT c0 FROM t0;            -- @got (0)
/* s1 T2.1 */ SELECT c0 FROM t0 WHERE pkey BETWEEN 1 AND 0; -- @got empty
/* s2 T1.3 */ DELETE FROM t0 ORDER BY pkey LIMIT 1; -- @got affected 0  @expect affected 1
/* s2 T1.4 */ COMMIT;
