--! format = 1
--! engine = "mariadb"
--! isolation = "READ COMMITTED"
--! known = "unfiled:innodb-index-merge-skip-locked"
--! # OPEN; found by Rashomon, on 10.11.18
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 VARCHAR(16));
/* init */ CREATE INDEX i0 ON t0 (c0);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 'ab'), (2, 2, 'ab'), (3, 3, 'ab');
/* s1 */ BEGIN;
/* s1 */ INSERT INTO t0 (pkey, vkey, c0) VALUES (4, 1001, NULL);
/* s2 */ SELECT * FROM t0 WHERE t0.pkey < 0 OR t0.c0 IS NULL FOR UPDATE SKIP LOCKED; -- @waits  @got (4, 1001, NULL)  @expect empty
/* s1 */ COMMIT;                            -- @resumes s2
