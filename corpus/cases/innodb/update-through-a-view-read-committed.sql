--! format = 1
--! engine = "mysql"
--! isolation = "READ COMMITTED"
--! # FP; found by hand
--! # status: no bug: who writes a view writes the table behind it
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);
/* init */ CREATE VIEW v0 AS SELECT pkey, vkey, c0 FROM t0 WHERE c0 > 1;
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3);
/* s1 */ BEGIN;
/* s2 */ BEGIN;
/* s1 */ SELECT * FROM v0;                  -- @got (2, 2, 2) (3, 3, 3)
/* s2 */ UPDATE v0 SET vkey = 1002, c0 = 5 WHERE v0.pkey = 2; -- @got affected 1
/* s1 */ SELECT * FROM v0;                  -- @got (2, 2, 2) (3, 3, 3)
/* s2 */ COMMIT;
/* s1 */ SELECT * FROM v0;                  -- @got (2, 1002, 5) (3, 3, 3)
/* s1 */ COMMIT;
