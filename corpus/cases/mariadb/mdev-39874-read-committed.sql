--! format = 1
--! engine = "mariadb"
--! isolation = "READ COMMITTED"
--! # BUG; reported for MariaDB 10.11, 11.4, 11.8, 12.2.2, 12.3
--! # jira MDEV-39874
--! # status: Confirmed (schedule order partly inferred)
/* init */ CREATE TABLE t0(c0 BOOLEAN UNIQUE, c1 REAL ZEROFILL NOT NULL, c2 BIGINT, c3 VARCHAR(100) UNIQUE NOT NULL) ENGINE=InnoDB;
/* init */ INSERT INTO t0 VALUES (NULL, 0.71535, 807633510, '');
/* init */ CREATE INDEX ic0 ON t0(c2 ASC, c0, c3 DESC, c1);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ DELETE FROM t0 WHERE TRUE;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ INSERT INTO t0 VALUES (1, 0.12098, 1600742384, '0.5007103978381064');
/* s1 T1.3 */ SELECT t0.c3, t0.c0 FROM t0 WHERE TRUE LOCK IN SHARE MODE;
/* s2 T2.3 */ UPDATE t0 SET c2 = DEFAULT, c0 = DEFAULT WHERE TRUE; -- @expect error deadlock  @expect error serialization
/* s1 T1.4 */ COMMIT;
/* s2 T2.4 */ COMMIT;
