--! format = 1
--! engine = "postgres"
--! isolation = "READ COMMITTED"
--! known = "documented:read-committed-looks-again"
--! # DESIGN; PostgreSQL manual, "SELECT", "The Locking Clause": rows are sorted first and locked then, so that one
--! # which changed while the read waited for it stands where its old values put it
--! # status: -
/* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT, c0 INT);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (4, 6, 22), (6, 7, 23);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1009, c0 = 46 WHERE pkey = 4; -- @got affected 1
/* s2 T2.1 */ SELECT c0 FROM t0 ORDER BY c0, pkey LIMIT 3 FOR UPDATE; -- @got (46) (23)  @expect (23) (46)
/* s1 T1.3 */ COMMIT;
