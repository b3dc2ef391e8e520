--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#33315"
--! # DUP; reported for TiDB 5.4
--! # DT2 cases/tidb33315.txt
--! # status: Duplicate
/* init */ CREATE TABLE t (c1 INT PRIMARY KEY, c2 INT);
/* init */ INSERT INTO t(c1, c2) VALUES (1, 1);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t SET c1=2, c2=2;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ DELETE FROM t;                -- @expect affected 1  @expect error serialization
/* s1 T1.3 */ COMMIT;
/* s2 T2.3 */ SELECT * FROM t;              -- @expect empty
/* s2 T2.4 */ COMMIT;
