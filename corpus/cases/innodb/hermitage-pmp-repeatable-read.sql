--! format = 1
--! engine = "mysql"
--! isolation = "REPEATABLE READ"
--! known = "Hermitage-PMP-RR"
--! # DESIGN; reported for MySQL/MariaDB all
--! # Hermitage mysql.md
--! # status: by design
/* init */ create table test (id int primary key, value int) engine=innodb;
/* init */ insert into test (id, value) values (1, 10), (2, 20);
/* s1 */ BEGIN;
/* s2 */ BEGIN;
/* s1 */ update test set value = value + 10;
/* s2 */ select * from test where value = 20;
/* s2 */ delete from test where value = 20; -- @got affected 1  @expect error serialization
/* s1 */ COMMIT;
/* s2 */ select * from test;                -- @got (2, 20)  @expect (1, 20)
/* s2 */ COMMIT;
/* s1 */ select * from test;
