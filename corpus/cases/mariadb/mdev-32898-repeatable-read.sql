--! format = 1
--! engine = "mariadb"
--! isolation = "REPEATABLE READ"
--! oracle = "txcheck"
--! kind = "wrong-rows"
--! known = "MDEV-32898"
--! # BUG; reported for MariaDB all before 10.6.18
--! # jira MDEV-32898; lock_isolation.test
--! # status: innodb_snapshot_isolation=ON (10.6.18/10.11.8/...)
/* init */ CREATE TABLE t(a INT PRIMARY KEY, b INT) ENGINE=InnoDB;
/* init */ INSERT INTO t VALUES (1,1),(2,2);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SELECT * FROM t LOCK IN SHARE MODE;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ SELECT * FROM t;
/* s1 T1.3 */ UPDATE t SET a=3 WHERE b=2;
/* s1 T1.4 */ COMMIT;
/* s2 T2.3 */ UPDATE t SET b=3;             -- @expect affected 2  @expect error serialization
/* s2 T2.4 */ SELECT * FROM t;              -- @got (1, 3) (2, 2) (3, 3)  @expect (1, 3) (3, 3)
/* s2 T2.5 */ COMMIT;
/* s1 T3.1 */ SELECT * FROM t;
