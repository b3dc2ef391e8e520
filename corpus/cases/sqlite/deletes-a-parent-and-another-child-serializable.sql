--! format = 1
--! engine = "sqlite"
--! isolation = "SERIALIZABLE"
--! # FP; found by a run of 12,000 cases
--! # status: no bug: alone on its view the DELETE removed an orphan, which SQLite takes for another row left without a parent
/* init */ CREATE TABLE t1 (pkey INTEGER NOT NULL, c0 BIGINT NOT NULL PRIMARY KEY);
/* init */ CREATE TABLE t2 (pkey BIGINT NOT NULL PRIMARY KEY, c0 INTEGER, c1 BIGINT, FOREIGN KEY (c1) REFERENCES t1 (c0) ON DELETE CASCADE);
/* init */ CREATE TABLE t0 (pkey INTEGER NOT NULL PRIMARY KEY, c1 BIGINT, FOREIGN KEY (c1) REFERENCES t2 (pkey));
/* init */ INSERT INTO t1 (pkey, c0) VALUES (1, 20), (5, 24);
/* init */ INSERT INTO t2 (pkey, c0, c1) VALUES (1, -1, 20), (3, NULL, 24);
/* init */ INSERT INTO t0 (pkey, c1) VALUES (2, 1);
/* s1 */ DELETE FROM t2;                    -- @expect error foreign-key
/* s2 */ DELETE FROM t1 WHERE t1.pkey = 5;
