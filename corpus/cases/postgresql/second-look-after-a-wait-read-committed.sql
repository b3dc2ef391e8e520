--! format = 1
--! engine = "postgres"
--! isolation = "READ COMMITTED"
--! known = "documented:read-committed-looks-again"
--! # DESIGN; PostgreSQL manual, "Read Committed Isolation Level": a row that changed while an UPDATE waited for it
--! # is looked at again as it is then, and the snapshot stays as it was for all others
--! # an engine that reads the newest rows deletes row 1
--! # status: -
/* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT, c0 INT);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 9), (2, 2, 10);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET c0 = 10, vkey = 1000 WHERE pkey = 1; -- @got affected 1
/* s1 T1.3 */ UPDATE t0 SET c0 = 11, vkey = 1001 WHERE pkey = 2; -- @got affected 1
/* s2 T2.1 */ DELETE FROM t0 WHERE c0 = 10; -- @got affected 0  @expect affected 1
/* s1 T1.4 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (1, 1000, 10) (2, 1001, 11)  @expect (2, 1001, 11)
