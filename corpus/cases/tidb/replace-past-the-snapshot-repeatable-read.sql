--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! # FP; a false alarm of ours on TiDB 8.5.4
--! # the count of the REPLACE holds the row that it puts in; it was taken for that of deleted rows which its snapshot does not show
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, vkey INT);
/* init */ INSERT INTO t0 (pkey, vkey) VALUES (3, 3);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ INSERT INTO t0 (pkey, vkey) VALUES (6, 1003), (7, 1003);
/* s1 T1.2 */ REPLACE INTO t0 (pkey, vkey) VALUES (3, 1008);
/* s3 T3.1 */ INSERT INTO t0 (pkey, vkey) VALUES (10, 1010);
/* s1 T1.3 */ COMMIT;
