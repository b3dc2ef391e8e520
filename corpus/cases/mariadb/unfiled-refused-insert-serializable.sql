--! format = 1
--! engine = "mariadb"
--! isolation = "SERIALIZABLE"
--! anomaly = "lost-update"
--! oracle = "serial"
--! kind = "not-serializable"
--! known = "unfiled:mariadb-refused-insert"
--! # OPEN; found by Rashomon, on 10.11
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, vkey INT);
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL UNIQUE, vkey INT);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ INSERT INTO t0 (pkey, vkey) VALUES (4, 1000), (3, 9223372036854775807 + 1000); -- @error data
/* s2 T2.1 */ INSERT INTO t0 (pkey, vkey) SELECT 4, COUNT(*) FROM t1; -- @got affected 1
/* s1 T1.3 */ INSERT INTO t1 (pkey, vkey) VALUES (1, 1001); -- @got affected 1
/* s1 T1.4 */ COMMIT;
