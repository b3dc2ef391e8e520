--! format = 1
--! engine = "postgres"
--! isolation = "SERIALIZABLE"
--! known = "PG-G2item-2020"
--! # BUG; reported for PostgreSQL 9.1 - 12.3
--! # postgres src/test/isolation/specs/update-conflict-out.spec
--! # status: fixed by commit 5940ffb221 (June 2020; first minors after it: 12.4, 11.9, 10.14, 9.6.19, 9.5.23 - release list inferred)
--! # an engine that locks what it reads makes one of them wait: then the row is there
/* init */ CREATE TABLE txn0(id int PRIMARY KEY, val TEXT);
/* init */ CREATE TABLE txn1(id int PRIMARY KEY, val TEXT);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ BEGIN;
/* s3 T3.1 */ BEGIN;
/* s1 T1.2 */ SELECT * FROM txn0 WHERE id = 42;
/* s2 T2.2 */ INSERT INTO txn0 SELECT 42, 'bar_insert';
/* s1 T1.3 */ INSERT INTO txn1 SELECT 7, 'foo_insert';
/* s1 T1.4 */ COMMIT;
/* s3 T3.2 */ UPDATE txn1 SET val = 'add physical version' WHERE id = 7;
/* s2 T2.3 */ SELECT * FROM txn1 WHERE id = 7; -- @got empty  @expect error serialization  @expect error deadlock  @expect (7, 'foo_insert')
/* s2 T2.4 */ COMMIT;
/* s3 T3.3 */ ROLLBACK;
