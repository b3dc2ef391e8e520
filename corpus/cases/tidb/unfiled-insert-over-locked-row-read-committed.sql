--! format = 1
--! engine = "tidb"
--! isolation = "READ COMMITTED"
--! known = "unfiled:tidb-insert-over-locked-row"
--! # OPEN; found by a run on TiDB 4.0.2 (mocktikv)
--! # status: an INSERT of a key whose row its transaction has locked is accepted, and leaves the old row in the indexes; 8.5.4 answers 1062
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 FLOAT);
/* init */ CREATE INDEX i_t0_0 ON t0 (c0);
/* init */ INSERT INTO t0 (pkey, c0) VALUES (6, 2.25);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SELECT * FROM t0 FOR UPDATE;  -- @got (6, 2.25)
/* s1 T1.3 */ INSERT INTO t0 (pkey) VALUES (6); -- @got affected 1  @expect error duplicate
/* s1 T1.4 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (6, NULL)  @expect (6, 2.25)
