--! format = 1
--! engine = "mariadb"
--! isolation = "READ UNCOMMITTED"
--! known = "MDEV-26643"
--! # BUG; reported for MariaDB 10.5.12 and earlier/later
--! # jira MDEV-26643; MariaDB lock_isolation.test
--! # status: documented + innodb_snapshot_isolation=ON (added early 2024 in 10.6.18/10.11.8/11.4.2-era releases - from memory; default ON from 11.6.2 per MariaDB docs); MDEV-34108 completes RC
/* init */ CREATE TABLE t(a INT, b INT);
/* init */ INSERT INTO t VALUES(NULL, 1), (2, 2), (NULL, NULL), (NULL, 3), (4, NULL);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t SET a = 10 WHERE 1;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ UPDATE t SET b = 20 WHERE a;  -- @got affected 4  @expect affected 5  @expect error serialization
/* s1 T1.3 */ COMMIT;
/* s2 T2.3 */ COMMIT;
/* s2 T3.1 */ SELECT * FROM t;              -- @got (10, 1) (10, 20) (10, 20) (10, 20) (10, 20)  @expect (10, 20) (10, 20) (10, 20) (10, 20) (10, 20)
