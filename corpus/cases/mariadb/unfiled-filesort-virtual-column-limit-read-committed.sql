--! format = 1
--! engine = "mariadb"
--! isolation = "READ COMMITTED"
--! known = "unfiled:mariadb-filesort-virtual-column"
--! # OPEN; found by Rashomon, on 10.11 and 11.8
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL, c0 BIGINT NOT NULL PRIMARY KEY, c1 BIGINT GENERATED ALWAYS AS (c0 + 1) VIRTUAL);
/* init */ CREATE INDEX i_t1_1 ON t0 (c1);
/* init */ INSERT INTO t0 (pkey, c0) VALUES (5, 23), (6, 24), (8, 25), (9, 26), (11, 27);
/* s1 T1.1 */ START TRANSACTION WITH CONSISTENT SNAPSHOT;
/* s1 T1.2 */ DELETE FROM t0 WHERE t0.pkey = 8; -- @got affected 1
/* s2 T2.1 */ SELECT t0.c1 FROM t0 WHERE t0.c1 > 1 ORDER BY t0.pkey DESC LIMIT 3; -- @got (25) (24)  @expect (28) (27) (26)
/* s1 T1.3 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (5, 23, 24) (6, 24, 25) (9, 26, 27) (11, 27, 28)
