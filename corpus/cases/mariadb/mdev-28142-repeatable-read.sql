--! format = 1
--! engine = "mariadb"
--! isolation = "REPEATABLE READ"
--! known = "MDEV-28142"
--! # OPEN; reported for MariaDB 10.x
--! # DT2 cases/mariadb28142.txt
--! # status: Unconfirmed
/* init */ CREATE TABLE t (c1 TEXT);
/* init */ INSERT INTO t(c1) VALUES ('a');
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ SELECT * FROM t WHERE CAST(IF('a', '1', 1) AS SIGNED); -- @expect ('a')
/* s1 T1.3 */ UPDATE t SET c1 = 'b' WHERE CAST(IF('a', '1', 1) AS SIGNED); -- @error data  @expect affected 1
/* s1 T1.4 */ COMMIT;
/* s2 T2.1 */ BEGIN;
/* s2 T2.2 */ DELETE FROM t WHERE CAST(IF('a', '1', 1) AS SIGNED); -- @expect affected 1
/* s2 T2.3 */ COMMIT;
/* s2 T3.1 */ SELECT * FROM t;              -- @expect empty
