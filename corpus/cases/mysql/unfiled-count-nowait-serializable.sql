--! format = 1
--! engine = "mysql"
--! isolation = "SERIALIZABLE"
--! known = "unfiled:mysql-count-nowait"
--! # OPEN; found by Rashomon, on 9.7
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 INT);
/* init */ INSERT INTO t0 (pkey) VALUES (2), (3);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET c0 = 1 WHERE pkey = 3;
/* s2 T2.1 */ SELECT COUNT(*) FROM t0 FOR UPDATE NOWAIT; -- @got (1)  @expect error lock-timeout  @expect error syntax
/* s1 T1.3 */ COMMIT;
