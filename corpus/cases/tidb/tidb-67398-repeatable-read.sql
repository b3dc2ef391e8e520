--! format = 1
--! engine = "tidb"
--! isolation = "REPEATABLE READ"
--! known = "TiDB#67398"
--! # OPEN; reported for TiDB 6.5-8.5
--! # tidb#67398 (data shortened)
--! # status: open
/* init */ CREATE TABLE m(c0 CHAR(17), c1 CHAR(7), c2 TEXT);
/* init */ INSERT INTO m(c0, c1, c2) VALUES ('q', 'vuf', '1W8jX');
/* init */ INSERT INTO m(c0, c1) VALUES ('', '');
/* init */ INSERT INTO m(c0, c1, c2) VALUES ('+', 'LEy', 'G');
/* s2 T1.1 */ BEGIN;
/* s2 T1.2 */ UPDATE m SET c0 = '.%', c1 = '', c2 = '>av' WHERE TRUE;
/* s1 T2.1 */ BEGIN;
/* s1 T2.2 */ DELETE FROM m WHERE c1 = '';  -- @got affected 1  @expect affected 3
/* s2 T1.3 */ UPDATE m SET c2 = '' WHERE c1 = 'LEy';
/* s2 T1.4 */ COMMIT;
/* s1 T2.3 */ COMMIT;
/* s1 T3.1 */ SELECT * FROM m;              -- @expect empty
