--! format = 1
--! engine = "mysql"
--! isolation = "REPEATABLE READ"
--! # FP; found by hand
--! # status: no bug: a foreign key changes rows of a table that no statement names
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT);
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, f0 BIGINT, FOREIGN KEY (f0) REFERENCES t0 (pkey) ON DELETE CASCADE ON UPDATE CASCADE);
/* init */ INSERT INTO t0 (pkey, vkey) VALUES (1, 1), (2, 2), (3, 3);
/* init */ INSERT INTO t1 (pkey, vkey, f0) VALUES (1, 4, 1), (2, 5, 1), (3, 6, 2), (4, 7, NULL);
/* s1 */ BEGIN;
/* s2 */ BEGIN;
/* s1 */ SELECT * FROM t1;                  -- @got (1, 4, 1) (2, 5, 1) (3, 6, 2) (4, 7, NULL)
/* s1 */ DELETE FROM t0 WHERE t0.pkey = 1;  -- @got affected 1
/* s2 */ INSERT INTO t1 (pkey, vkey, f0) VALUES (7, 1001, 3); -- @got affected 1
/* s1 */ UPDATE t0 SET pkey = 12, vkey = 1002 WHERE t0.pkey = 2; -- @got affected 1
/* s1 */ SELECT * FROM t1;                  -- @got (3, 6, 12) (4, 7, NULL)
/* s1 */ DELETE FROM t0 WHERE t0.pkey = 3;  -- @waits  @got affected 1
/* s2 */ ROLLBACK;                          -- @resumes s1
/* s1 */ COMMIT;
