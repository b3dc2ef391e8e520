--! format = 1
--! engine = "mysql"
--! isolation = "READ COMMITTED"
--! known = "unfiled:mysql-replace-cascade"
--! # OPEN; found by Rashomon, on 9.7
--! # not reported yet
--! # status: -
--! # no row of t2 refers to row 3 of t1, so T2.1 may go on; behind T1.1 in one session it is refused for the row that refers to 4
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT UNIQUE);
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, f0 INT, FOREIGN KEY (f0) REFERENCES t0 (c0) ON DELETE CASCADE);
/* init */ CREATE TABLE t2 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, f0 BIGINT, FOREIGN KEY (f0) REFERENCES t1 (pkey));
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 20), (2, 2, 23);
/* init */ INSERT INTO t1 (pkey, vkey, f0) VALUES (3, 3, 20), (4, 4, 23);
/* init */ INSERT INTO t2 (pkey, vkey, f0) VALUES (6, 6, 4);
/* s2 T1.1 */ UPDATE t1 SET vkey = 1000, f0 = 23 WHERE pkey = 4; -- @got affected 1
/* s1 T2.1 */ REPLACE INTO t0 (pkey, vkey, c0) VALUES (1, 1001, 41); -- @got affected 2
