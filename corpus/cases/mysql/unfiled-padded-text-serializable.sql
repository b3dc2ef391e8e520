--! format = 1
--! engine = "mysql"
--! isolation = "SERIALIZABLE"
--! known = "unfiled:innodb-padded-text"
--! # OPEN; found by Rashomon, on 9.7
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT, c1 VARCHAR(16) COLLATE utf8mb4_general_ci NOT NULL);
/* init */ CREATE INDEX i0 ON t0 (c1);
/* init */ INSERT INTO t0 (pkey, vkey, c0, c1) VALUES (5, 10, 10, 'a');
/* s1 */ BEGIN;
/* s1 */ UPDATE t0 SET c1 = 'a ', vkey = 1000 WHERE t0.pkey = 5;
/* s2 */ BEGIN;
/* s2 */ SELECT t0.c1 FROM t0;              -- @got ('a ')  @expect ('a')
/* s2 */ COMMIT;
/* s1 */ COMMIT;
