--! format = 1
--! engine = "mariadb"
--! isolation = "READ UNCOMMITTED"
--! # FP; found by a run of 6,500 cases on MariaDB 11.8
--! # status: no bug: the body of a trigger runs in the mode in which it was made, here one that is not strict
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c1 INT DEFAULT 5, c0 VARBINARY(8));
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c1 VARBINARY(8) NOT NULL DEFAULT X'FF');
/* init */ INSERT INTO t0 (pkey, vkey, c1, c0) VALUES (2, 8, NULL, X'');
/* init */ INSERT INTO t1 (pkey, vkey, c1) VALUES (5, 21, X'');
/* init */ CREATE TRIGGER tg1 AFTER INSERT ON t0 FOR EACH ROW UPDATE t1 SET vkey = NEW.vkey, c1 = NEW.c0 WHERE pkey = NEW.pkey;
/* s1 T1.1 */ SET SESSION sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES';
/* s1 T2.1 */ BEGIN;
/* s2 T3.1 */ BEGIN;
/* s2 T3.2 */ UPDATE t0 SET vkey = 1001;    -- @got affected 1
/* s1 T2.2 */ INSERT INTO t0 (pkey, vkey) VALUES (5, 1009); -- @got affected 1
/* s1 T2.3 */ COMMIT;
/* s2 T3.3 */ COMMIT;
/* end */ SELECT * FROM t0;                 -- @got (2, 1001, NULL, x''), (5, 1009, 5, NULL)
/* end */ SELECT * FROM t1;                 -- @got (5, 1009, x'')
