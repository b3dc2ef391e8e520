--! format = 1
--! engine = "mysql"
--! isolation = "SERIALIZABLE"
--! known = "unfiled:mysql-count-nowait"
--! # OPEN; found by Rashomon, on 9.7: a plain SELECT holds shared locks at SERIALIZABLE
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY);
/* init */ INSERT INTO t0 (pkey) VALUES (3);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SELECT * FROM t0;
/* s2 T2.1 */ SELECT COUNT(*) FROM t0 FOR UPDATE NOWAIT; -- @got (0)  @expect error lock-timeout  @expect error syntax
/* s1 T1.3 */ COMMIT;
