--! format = 1
--! engine = "mysql"
--! isolation = "READ COMMITTED"
--! known = "unfiled:mysql-replace-cascade"
--! # OPEN; found by Rashomon, on 9.7
--! # not reported yet
--! # status: -
--! # T4.1 takes the row of t2 with it that refers to 4, which stays, for T1.1 looked for 4
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT UNIQUE);
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, f0 INT, FOREIGN KEY (f0) REFERENCES t0 (c0) ON DELETE CASCADE);
/* init */ CREATE TABLE t2 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, f0 BIGINT, FOREIGN KEY (f0) REFERENCES t1 (pkey) ON DELETE CASCADE);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 20), (2, 2, 23);
/* init */ INSERT INTO t1 (pkey, vkey, f0) VALUES (3, 3, 20), (4, 4, 23);
/* init */ INSERT INTO t2 (pkey, vkey, f0) VALUES (6, 6, 4);
/* s1 T1.1 */ UPDATE t1 SET vkey = 1000, f0 = 23 WHERE pkey = 4;
/* s2 T2.1 */ INSERT INTO t1 (pkey, vkey, f0) VALUES (9, 1001, 23);
/* s2 T3.1 */ UPDATE t1 SET vkey = 1002, f0 = 23 WHERE pkey = 9;
/* s1 T4.1 */ REPLACE INTO t0 (pkey, vkey, c0) VALUES (1, 1003, 41); -- @got affected 2
/* end */ SELECT * FROM t2;                 -- @got empty  @expect (6, 6, 4)
