--! format = 1
--! engine = "mariadb"
--! isolation = "REPEATABLE READ"
--! known = "unfiled:mariadb-partitioned-limit"
--! # OPEN; found by Rashomon, on 10.11 and 11.8
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT) PARTITION BY HASH (pkey) PARTITIONS 3;
/* init */ INSERT INTO t0 (pkey, vkey) VALUES (1, 1);
/* s1 T1.1 */ SELECT vkey FROM t0 WHERE pkey BETWEEN 1 AND 0; -- @got empty
/* s2 T2.1 */ UPDATE t0 SET pkey = 2, vkey = 1002; -- @got affected 0  @expect affected 1
