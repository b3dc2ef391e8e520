--! format = 1
--! engine = "postgres"
--! isolation = "REPEATABLE READ"
--! # FP; found by a run on PostgreSQL 18
--! # an exclusion constraint is a key that no foreign key can reference: FOR KEY SHARE does not wait for who changes it
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INTEGER, c1 INTEGER UNIQUE);
/* init */ ALTER TABLE t0 ADD CONSTRAINT x0 EXCLUDE USING hash (c0 WITH =);
/* init */ INSERT INTO t0 (pkey, vkey, c0, c1) VALUES (7, 16, 26, 1);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1002, c0 = 0; -- @got affected 1
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ SELECT * FROM t0 FOR KEY SHARE; -- @got (7, 16, 26, 1)
/* s1 T1.3 */ ROLLBACK;
/* s2 T2.3 */ COMMIT;
/* s1 T3.1 */ BEGIN;
/* s1 T3.2 */ UPDATE t0 SET vkey = 1003, c1 = 2; -- @got affected 1
/* s2 T4.1 */ SELECT * FROM t0 FOR KEY SHARE; -- @waits  @got (7, 16, 26, 1)
/* s1 T3.3 */ ROLLBACK;
/* end */ SELECT * FROM t0;                 -- @got (7, 16, 26, 1)
