--! format = 1
--! engine = "mariadb"
--! isolation = "READ UNCOMMITTED"
--! # FP; found on MariaDB 10.11: the second row has no parent and meets the unique key of the first; which index comes first, and so
--! # whether the upsert is refused, changes with TRUNCATE
--! # status: -
/* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT) ENGINE=InnoDB;
/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c1 VARCHAR(16), c0 BIGINT, FOREIGN KEY (c0) REFERENCES t1 (pkey)) ENGINE=InnoDB;
/* init */ CREATE UNIQUE INDEX i_t2_x1 ON t0 (c1);
/* s1 */ BEGIN;
/* s1 */ INSERT INTO t0 (pkey, vkey) VALUES (3, 1008);
/* s1 */ INSERT INTO t0 (pkey, vkey, c1, c0) VALUES (3, 1009, '', 0), (4, 1009, '', 0) ON DUPLICATE KEY UPDATE c1 = '', vkey = 1009;
/* s1 */ COMMIT;
