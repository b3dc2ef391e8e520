--! format = 1
--! engine = "mysql"
--! isolation = "READ COMMITTED"
--! known = "unfiled:mysql-replace-cascade"
--! # OPEN; found by Rashomon, on 9.7
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 INT UNIQUE);
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, c0 INT, FOREIGN KEY (c0) REFERENCES t0 (c0) ON DELETE CASCADE);
/* init */ CREATE TABLE t2 (c0 BIGINT, FOREIGN KEY (c0) REFERENCES t1 (pkey) ON DELETE SET NULL);
/* init */ INSERT INTO t0 (pkey, c0) VALUES (5, 23);
/* init */ INSERT INTO t1 (pkey, c0) VALUES (21, 23);
/* init */ INSERT INTO t2 (c0) VALUES (21);
/* s1 T1.1 */ REPLACE INTO t0 (pkey) VALUES (5); -- @got affected 2
/* end */ SELECT * FROM t2;                 -- @got (21)  @expect (NULL)
