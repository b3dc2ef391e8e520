--! format = 1
--! engine = "mariadb"
--! isolation = "REPEATABLE READ"
--! known = "MDEV-26642"
--! # DESIGN; reported for MariaDB 5.5 - 10.7+
--! # jira MDEV-26642; Troc Listing 2
--! # status: works as designed; innodb_snapshot_isolation=ON raises 1020 instead
/* init */ CREATE TABLE t(c1 INT, c2 INT);
/* init */ INSERT INTO t VALUES (0, 0), (1, 1);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SELECT * FROM t;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ UPDATE t SET c1 = 10 WHERE c2 = 1;
/* s2 T2.3 */ COMMIT;
/* s1 T1.3 */ SELECT * FROM t;
/* s1 T1.4 */ UPDATE t SET c1 = 10 WHERE TRUE; -- @expect affected 1  @expect affected 2  @expect error serialization
/* s1 T1.5 */ SELECT * FROM t;              -- @got (10, 0) (1, 1)  @expect (10, 0) (10, 1)
/* s1 T1.6 */ COMMIT;
