--! format = 1
--! engine = "mysql"
--! isolation = "REPEATABLE READ"
--! known = "Hermitage-PMP-RR"
--! # DESIGN; reported for MySQL/MariaDB all
--! # Hermitage mysql.md
--! # status: by design
/* init */ create table test (id int primary key, value int) engine=innodb;
/* init */ insert into test (id, value) values (1, 10), (2, 20);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ BEGIN;
/* s1 T1.2 */ update test set value = value + 10;
/* s2 T2.2 */ select * from test where value = 20;
/* s2 T2.3 */ delete from test where value = 20; -- @blocks s1  @got affected 1  @expect error serialization
/* s1 T1.3 */ COMMIT;                       -- @resumes s2
/* s2 T2.4 */ select * from test;           -- @got (2, 20)  @expect (1, 20)
/* s2 T2.5 */ COMMIT;
/* s1 T3.1 */ select * from test;
