--! format = 1
--! engine = "mysql"
--! isolation = "REPEATABLE READ"
--! known = "unfiled:mysql-mrr-nowait"
--! # OPEN; found by Rashomon, on 9.7
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (vkey INT, c0 BIGINT, c1 INT UNSIGNED);
/* init */ CREATE INDEX i0 ON t0 (c1, c0);
/* s1 */ BEGIN;
/* s1 */ INSERT INTO t0 (vkey, c1) VALUES (1005, 0);
/* s2 */ SET SESSION optimizer_switch = 'mrr_cost_based=off';
/* s2 */ SELECT * FROM t0 WHERE t0.c1 >= 0 FOR UPDATE NOWAIT; -- @waits  @got (1005, NULL, 0)  @expect error lock-timeout
/* s1 */ COMMIT;                            -- @resumes s2
