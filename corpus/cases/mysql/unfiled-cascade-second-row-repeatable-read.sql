--! format = 1
--! engine = "mysql"
--! isolation = "REPEATABLE READ"
--! known = "unfiled:mysql-cascade-second-row"
--! # OPEN; found by Rashomon, on 9.7
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY);
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, c0 BIGINT, FOREIGN KEY (c0) REFERENCES t0 (pkey) ON DELETE CASCADE);
/* init */ CREATE TABLE t2 (pkey BIGINT NOT NULL PRIMARY KEY, c0 BIGINT, FOREIGN KEY (c0) REFERENCES t1 (pkey) ON DELETE CASCADE);
/* init */ CREATE TABLE t3 (c0 BIGINT, FOREIGN KEY (c0) REFERENCES t2 (pkey) ON DELETE CASCADE);
/* init */ INSERT INTO t0 (pkey) VALUES (1);
/* init */ INSERT INTO t1 (pkey, c0) VALUES (1, 1), (2, 1);
/* init */ INSERT INTO t2 (pkey, c0) VALUES (21, 1), (22, 2);
/* s1 T1.1 */ DELETE FROM t0;               -- @got affected 1
/* end */ SELECT * FROM t2;                 -- @got (22, 2)  @expect empty
