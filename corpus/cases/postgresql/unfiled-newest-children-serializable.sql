--! format = 1
--! engine = "postgres"
--! isolation = "SERIALIZABLE"
--! anomaly = "write-skew"
--! oracle = "serial"
--! kind = "not-serializable"
--! known = "unfiled:postgresql-newest-children"
--! # OPEN; found by Rashomon, on 13.16, 15.18, 17.12 and 18.6
--! # not reported yet; discussed on pgsql-hackers in October 2014, "Question about RI checks"
--! # status: -
--! # T2 before T1: the child is gone when T1 reads it; T1 before T2: the child is there when T1 deletes its parent
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY);
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, f0 BIGINT, FOREIGN KEY (f0) REFERENCES t0 (pkey));
/* init */ INSERT INTO t0 (pkey) VALUES (1);
/* init */ INSERT INTO t1 (pkey, f0) VALUES (11, 1);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SELECT * FROM t1;             -- @got (11, 1)
/* s2 T2.1 */ DELETE FROM t1;               -- @got affected 1
/* s1 T1.3 */ DELETE FROM t0;               -- @got affected 1
/* s1 T1.4 */ COMMIT;
