--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#28092"
--! # BUG; reported for TiDB 5.2.1
--! # tidb#28092
--! # status: open
/* init */ CREATE TABLE t(c1 BLOB NOT NULL, c2 TEXT);
/* init */ INSERT IGNORE INTO t VALUES (NULL, NULL);
/* init */ INSERT INTO t VALUES (0x32, 'aaa');
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t SET c2 = 'abc';
/* s1 T1.3 */ UPDATE t SET c2 = 'xyz' WHERE c1; -- @error data  @expect affected 1
/* s1 T1.4 */ COMMIT;
/* s1 T2.1 */ SELECT * FROM t;              -- @expect ('', 'abc') ('2', 'xyz')
