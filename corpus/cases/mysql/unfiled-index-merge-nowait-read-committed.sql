--! format = 1
--! engine = "mysql"
--! isolation = "READ COMMITTED"
--! known = "unfiled:mysql-index-merge-nowait"
--! # OPEN; found by Rashomon, on 9.7
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 VARCHAR(16));
/* init */ CREATE UNIQUE INDEX i0 ON t0 (c0);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (7, 5, NULL), (8, 6, 'u25');
/* s1 */ BEGIN;
/* s1 */ INSERT INTO t0 (pkey, vkey, c0) VALUES (3, 1003, '');
/* s2 */ SELECT * FROM t0 WHERE t0.pkey = 3 OR t0.c0 IS NULL FOR UPDATE NOWAIT; -- @waits  @got (3, 1003, '') (7, 5, NULL)  @expect error lock-timeout
/* s1 */ COMMIT;                            -- @resumes s2
