--! format = 1
--! engine = "mariadb"
--! isolation = "REPEATABLE READ"
--! # FP; found on MariaDB 11.8: the new row has a value of c1 that row 7 has, and a parent that is not there; which index comes
--! # first, and so which error is answered, changes with TRUNCATE
--! # status: -
/* init */ CREATE TABLE t2 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT) ENGINE=InnoDB;
/* init */ CREATE TABLE t3 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c1 VARCHAR(16), f0 BIGINT NOT NULL, FOREIGN KEY (f0) REFERENCES t2 (pkey)) ENGINE=InnoDB;
/* init */ CREATE UNIQUE INDEX i_t3_1 ON t3 (c1);
/* init */ INSERT INTO t2 (pkey, vkey) VALUES (2, 8);
/* init */ INSERT INTO t3 (pkey, vkey, c1, f0) VALUES (7, 14, NULL, 2);
/* s1 */ UPDATE t3 SET c1 = 'a', vkey = 1000 WHERE t3.pkey = 7; -- @got affected 1
/* s1 */ INSERT INTO t3 (pkey, vkey, c1, f0) VALUES (9, 1002, 'a', 5);
