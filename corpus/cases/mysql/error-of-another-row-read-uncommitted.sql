--! format = 1
--! engine = "mysql"
--! isolation = "READ UNCOMMITTED"
--! # FP; found on MySQL 9.7: row 2 of the UPDATE overflows and row 3 has no parent; which error is answered depends on
--! # which row comes first, and t0 has no key that orders them
--! # status: -
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, c0 BIGINT);
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL, c0 TEXT, c1 BIGINT, FOREIGN KEY (c1) REFERENCES t1 (pkey));
/* init */ INSERT INTO t1 (pkey, c0) VALUES (1, 2);
/* init */ INSERT INTO t0 (pkey, c0, c1) VALUES (2, 'b', 1), (3, 'long_text_value', NULL);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ UPDATE t0 SET c1 = CASE WHEN t0.pkey = 2 THEN 9223372036854775807 + t0.pkey ELSE 0 END;
/* s1 T1.3 */ UPDATE t0 SET c0 = '' WHERE t0.pkey = 2;
/* s1 T1.4 */ COMMIT;
