--! format = 1
--! engine = "mysql"
--! isolation = { s1 = "READ COMMITTED", s2 = "SERIALIZABLE" }
--! # FP; found by a run of 5,000 cases on MySQL 9.7
--! # status: no bug: the upsert takes its own row back and goes on with the row of the other, which has the key to the end
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, vkey INT, c0 BIGINT NOT NULL PRIMARY KEY, c1 DATE NOT NULL, c2 VARBINARY(8) NOT NULL DEFAULT X'0A0B');
/* s1 T1.1 */ START TRANSACTION;
/* s1 T1.2 */ REPLACE INTO t0 (pkey, vkey, c0) VALUES (5, 1000, 1); -- @got affected 1
/* s2 T2.1 */ INSERT INTO t0 (pkey, vkey) VALUES (5, 1002) ON DUPLICATE KEY UPDATE vkey = 1002, c1 = '1999-12-31', c2 = X'0A0B'; -- @waits  @got affected 2
/* s1 T1.3 */ COMMIT;                       -- @resumes s2
/* end */ SELECT * FROM t0;                 -- @got (5, 1002, 1, '1999-12-31', x'0a0b')
