--! format = 1
--! engine = "mysql"
--! isolation = "REPEATABLE READ"
--! known = "unfiled:mysql-update-through-stored-column"
--! # OPEN; found by Rashomon, on 9.7
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t1 (c0 INT);
/* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, c0 INT, g0 INT GENERATED ALWAYS AS (c0 + 1) STORED, KEY (g0));
/* init */ INSERT INTO t1 VALUES (1), (2), (3), (4), (5), (6), (7);
/* init */ INSERT INTO t0 (pkey, c0) VALUES (1, 1000), (2, -3), (3, 1000), (4, 7), (5, 2), (6, -3), (7, 7), (9, -3);
/* s1 */ BEGIN;
/* s1 */ UPDATE t0 SET c0 = c0 + 1 WHERE EXISTS (SELECT 1 FROM t1 WHERE t0.g0 BETWEEN 2 AND 20); -- @got affected 44  @expect affected 3
/* s1 */ COMMIT;
