--! format = 1
--! engine = "mariadb"
--! isolation = "REPEATABLE READ"
--! # DESIGN; MySQL manual, "Consistent Nonlocking Reads"
--! # status: no bug: the snapshot does not reach into the table that was built anew
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT);
/* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20);
/* init */ INSERT INTO t1 (pkey, vkey) VALUES (1, 1);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SELECT * FROM t1;             -- @got (1, 1)
/* s2 T2.1 */ ALTER TABLE t0 FORCE;
/* s1 T1.3 */ SELECT * FROM t0;             -- @expect error table-changed  @expect (1, 1, 10) (2, 2, 20)  @got error table-changed 1412
/* s1 T1.4 */ UPDATE t1 SET vkey = 1001;    -- @got affected 1
/* s1 T1.5 */ COMMIT;
/* s2 T3.1 */ CREATE INDEX x1 ON t0 (c0 DESC, pkey) ALGORITHM=COPY;
/* s2 T4.1 */ BEGIN;
/* s2 T4.2 */ UPDATE t0 SET c0 = c0 + 5, vkey = 1002 WHERE c0 > 5; -- @got affected 2
/* s1 T5.1 */ DROP INDEX x1 ON t0;
/* s2 T4.3 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (1, 1002, 15), (2, 1002, 25)
/* end */ SELECT * FROM t1;                 -- @got (1, 1001)
