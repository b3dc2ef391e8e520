--! format = 1
--! engine = "mariadb"
--! isolation = "REPEATABLE READ"
--! known = "unfiled:mariadb-delete-returning-count"
--! # OPEN; found by Rashomon, on 10.11 and 11.8
--! # not reported yet
--! # status: -
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 INT NOT NULL);
/* s1 T1.1 */ CREATE INDEX x1 ON t0 (c0 DESC) ALGORITHM=COPY;
/* s2 T2.1 */ DELETE FROM t0 WHERE t0.c0 BETWEEN 1 AND 0 RETURNING t0.pkey; -- @got affected 0  @expect empty
/* end */ SELECT * FROM t0;                 -- @got empty
