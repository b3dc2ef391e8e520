--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#31405"
--! # BUG; reported for TiDB 5.x
--! # DT2 cases/tidb31405.txt
--! # status: Verified
--! # strict mode rejects both statements, the mode of our sessions takes them: never one of the two
/* init */ CREATE TABLE t(c1 DECIMAL);
/* init */ INSERT INTO t(c1) VALUES(1.0);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t SET c1 = c1 + 1 WHERE c1 > 'a'; -- @expect affected 1  @expect error data
/* s1 T1.3 */ ROLLBACK;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ DELETE FROM t WHERE c1 > 'a'; -- @expect affected 1  @expect error data
/* s2 T2.3 */ COMMIT;
/* s2 T3.1 */ SELECT * FROM t;              -- @expect empty  @expect (1)
