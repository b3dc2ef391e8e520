--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! # FP; a false alarm of ours on TiDB 8.5.4
--! # the snapshot of T2 shows the row that was replaced beside the one that T2.2 changed; it was taken for the same row
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, vkey INT);
/* init */ INSERT INTO t0 (pkey, vkey) VALUES (6, 6);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ REPLACE INTO t0 (pkey, vkey) VALUES (6, 1005);
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ UPDATE t0 SET vkey = 1000;
/* s1 T1.3 */ COMMIT;
/* s2 T2.3 */ DELETE FROM t0;
/* s2 T2.4 */ COMMIT;
