--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#23966"
--! # DESIGN; found by a run on TiDB 8.5.4 (unistore)
--! # status: TiDB#23966: the snapshot shows a moved row beside the reader's own version, here to a subquery of VALUES
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, c0 INT);
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL, vkey INT, c1 BIGINT NOT NULL PRIMARY KEY);
/* init */ INSERT INTO t0 (pkey, vkey, c1) VALUES (4, 13, 22);
/* s1 T1.1 */ START TRANSACTION;
/* s2 T2.1 */ UPDATE t0 SET vkey = 1005, c1 = 0;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1001;
/* s1 T1.3 */ INSERT INTO t1 (pkey, c0) VALUES (10, (SELECT COUNT(*) FROM t0));
/* s1 T1.4 */ COMMIT;
/* end */ SELECT * FROM t1;
