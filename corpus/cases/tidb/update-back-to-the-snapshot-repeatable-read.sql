--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! # FP; a false alarm of ours on TiDB 8.5.4
--! # T2.2 gives the row what the snapshot of T2 shows of it; it was taken for unchanged
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c1 INT, c0 INT);
/* init */ INSERT INTO t0 (pkey, c1, c0) VALUES (4, 3, 5);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET c0 = NULL WHERE pkey = 4;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ UPDATE t0 SET c0 = 5;
/* s1 T1.3 */ COMMIT;
/* s2 T2.3 */ UPDATE t0 SET c1 = 0;
/* s2 T2.4 */ COMMIT;
