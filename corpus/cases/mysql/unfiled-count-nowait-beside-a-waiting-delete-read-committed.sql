--! format = 1
--! engine = "mysql"
--! isolation = "READ COMMITTED"
--! known = "unfiled:mysql-count-nowait"
--! # OPEN; found by Rashomon, on 9.7: the DELETE holds the first row while it waits for the second
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL);
/* init */ INSERT INTO t0 (pkey) VALUES (5);
/* s1 T1.1 */ START TRANSACTION;
/* s1 T1.2 */ INSERT INTO t0 (pkey) VALUES (11);
/* s2 T2.1 */ DELETE FROM t0;               -- @blocks s1
/* s1 T1.3 */ SELECT COUNT(*) FROM t0 FOR UPDATE NOWAIT; -- @got (0)  @expect error lock-timeout  @expect error syntax
/* s1 T1.4 */ COMMIT;                       -- @resumes s2
