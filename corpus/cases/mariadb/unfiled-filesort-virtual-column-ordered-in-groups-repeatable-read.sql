--! format = 1
--! engine = "mariadb"
--! isolation = "REPEATABLE READ"
--! known = "unfiled:mariadb-filesort-virtual-column"
--! # OPEN; found on MariaDB 11.8: a sort for groups over an index on a virtual column loses a row that another transaction has changed
--! # status: not filed
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL UNIQUE, vkey INT, c0 ENUM('a', 'b', 'ab') NOT NULL, c1 BIGINT NOT NULL PRIMARY KEY, c2 BIGINT GENERATED ALWAYS AS (c1 + 1) VIRTUAL);
/* init */ CREATE INDEX i_t1_1 ON t0 (c2);
/* init */ INSERT INTO t0 (pkey, vkey, c0, c1) VALUES (3, 3, 'a', 22), (4, 4, 'a', 23);
/* s1 T1.1 */ START TRANSACTION WITH CONSISTENT SNAPSHOT;
/* s1 T1.2 */ UPDATE t0 SET vkey = 1000 WHERE t0.pkey = 4; -- @got affected 1
/* s2 T2.1 */ SELECT GROUP_CONCAT(t0.c2 ORDER BY t0.pkey) FROM t0 WHERE t0.c2 > 0 GROUP BY t0.c0; -- @got ('23')  @expect ('23,24')
/* s1 T1.3 */ COMMIT;
