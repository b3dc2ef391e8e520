--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "unfiled:tidb-locked-absent-key"
--! # OPEN; found by a run on TiDB 4.0.2 (mocktikv)
--! # status: a key that a committed transaction has locked and that is not there is refused to every INSERT from then on; 8.5.4 is right
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1000 WHERE t0.pkey = 9;
/* s1 T1.3 */ COMMIT;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ INSERT INTO t0 (pkey, vkey) VALUES (9, 1001); -- @got error duplicate  @expect affected 1
/* s2 T2.3 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got empty  @expect (9, 1001)
