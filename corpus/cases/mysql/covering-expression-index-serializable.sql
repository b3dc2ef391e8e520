--! format = 1
--! engine = "mysql"
--! isolation = "SERIALIZABLE"
--! # FP; found by a run on MySQL 9.7
--! # status: no bug: T2.2 needs no column of t0 and reads it by the index over an expression, whose entries T1.2 does not lock
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT NOT NULL);
/* init */ CREATE INDEX i_t0_0 ON t0 ((c0 + 1));
/* init */ CREATE TABLE t1 (vkey INT);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (6, 12, 0);
/* init */ INSERT INTO t1 (vkey) VALUES (23);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1001;    -- @got affected 1
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ SELECT t1.vkey FROM t0 CROSS JOIN t1; -- @got (23)
/* s2 T2.3 */ COMMIT;
/* s1 T1.3 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (6, 1001, 0)
/* end */ SELECT * FROM t1;                 -- @got (23)
