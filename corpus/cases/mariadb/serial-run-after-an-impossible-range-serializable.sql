--! format = 1
--! engine = "mariadb"
--! isolation = "SERIALIZABLE"
--! # FP; found by Rashomon: T2.3 leaves the serial run in a state in which T2.2 finds no row, once it is made again in another order
--! # status: no bug of transactions (unfiled:mariadb-partitioned-limit without any concurrency)
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT) PARTITION BY HASH (pkey) PARTITIONS 3;
/* init */ INSERT INTO t0 (pkey, vkey) VALUES (1, 1);
/* s1 T1.1 */ START TRANSACTION;
/* s1 T1.2 */ SAVEPOINT sp2;
/* s1 T1.3 */ UPDATE t0 SET vkey = 1000 WHERE t0.pkey = 1; -- @expect affected 1
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ UPDATE t0 SET pkey = 0, vkey = 1002; -- @expect affected 1
/* s2 T2.3 */ UPDATE t0 SET vkey = 1004 WHERE t0.pkey = 0 AND t0.pkey = 1; -- @expect affected 0
/* s2 T2.4 */ COMMIT;
/* s1 T1.4 */ ROLLBACK TO SAVEPOINT sp2;
/* s1 T1.5 */ COMMIT;
