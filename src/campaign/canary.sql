--! format = 1
--! engine = "simulated"
--! isolation = "SERIALIZABLE"
--! # T2's commit is lost, T1's lock is none, and T4 reads what T3 takes back.
/* init */ CREATE TABLE canary (pkey INTEGER PRIMARY KEY, vkey INTEGER, c INTEGER);
/* init */ INSERT INTO canary (pkey, vkey, c) VALUES (1, 1, 10), (2, 2, 20);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ BEGIN;
/* s1 T1.2 */ SELECT c FROM canary WHERE pkey = 2 FOR UPDATE;
/* s2 T2.2 */ UPDATE canary SET c = 21, vkey = 1001 WHERE pkey = 2;
/* s2 T2.3 */ COMMIT;
/* s1 T1.3 */ COMMIT;
/* s1 T3.1 */ BEGIN;
/* s2 T4.1 */ BEGIN;
/* s1 T3.2 */ UPDATE canary SET c = 11, vkey = 1002 WHERE pkey = 1;
/* s2 T4.2 */ SELECT c FROM canary WHERE pkey = 1;
/* s1 T3.3 */ ROLLBACK;
/* s2 T4.3 */ UPDATE canary SET c = c + 2, vkey = 1003 WHERE pkey = 2;
/* s2 T4.4 */ COMMIT;
