--! format = 1
--! engine = "mariadb"
--! isolation = "SERIALIZABLE"
--! known = "MDEV-40092"
--! # BUG; reported for MariaDB 11.4, 11.8, 12.2.2, 12.3
--! # jira MDEV-40092
--! # status: Confirmed, unresolved (2026)
--! # innodb_snapshot_isolation is a variable of MariaDB; elsewhere the reported answer is right
/* init */ CREATE TABLE t0(c0 VARCHAR(100) UNIQUE NOT NULL, c1 INT NOT NULL, c2 VARCHAR(100) UNIQUE, PRIMARY KEY(c0, c1, c2)) ENGINE=InnoDB;
/* init */ INSERT INTO t0 VALUES ('', -1337292163, '');
/* init */ INSERT INTO t0 VALUES ('1064601816', 2103997766, 'u|');
/* init */ CREATE INDEX ic0 ON t0(c2 DESC, c0 ASC, c1);
/* s1 T1.1 */ START TRANSACTION WITH CONSISTENT SNAPSHOT;
/* s2 T2.1 */ SET innodb_snapshot_isolation=ON;
/* s2 T3.1 */ START TRANSACTION WITH CONSISTENT SNAPSHOT;
/* s1 T1.2 */ DELETE FROM t0 WHERE TRUE;
/* s2 T3.2 */ SELECT t0.c0, t0.c1, t0.c2 FROM t0 WHERE TRUE FOR UPDATE; -- @blocks s1  @got empty  @expect error serialization
/* s1 T1.3 */ COMMIT;                       -- @resumes s2
/* s2 T3.3 */ COMMIT;
