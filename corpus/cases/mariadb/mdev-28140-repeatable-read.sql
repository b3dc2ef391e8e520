--! format = 1
--! engine = "mariadb"
--! isolation = "REPEATABLE READ"
--! known = "MDEV-28140"
--! # BUG; reported for MariaDB 10.x
--! # DT2 cases/mariadb28140.txt
--! # status: Verified
/* init */ CREATE TABLE t(c1 BLOB NOT NULL, c2 TEXT);
/* init */ INSERT IGNORE INTO t(c1, c2) VALUES (NULL, NULL), (NULL, 'abc');
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SELECT * FROM t WHERE c1;     -- @expect empty
/* s1 T1.3 */ UPDATE t SET c2 = 'test' WHERE c1; -- @error data  @expect affected 0
/* s1 T1.4 */ ROLLBACK;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ DELETE FROM t WHERE c1;       -- @error data  @expect affected 0
/* s2 T2.3 */ COMMIT;
