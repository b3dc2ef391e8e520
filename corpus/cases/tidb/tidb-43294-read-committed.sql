--! format = 1
--! engine = "tidb"
--! isolation = "READ COMMITTED"
--! known = "TiDB#43294"
--! # BUG; reported for TiDB 7.1 (dev)
--! # tidb#43294
--! # status: closed critical
/* init */ CREATE TABLE t(id INT primary key, v int not null, index (id));
/* init */ INSERT INTO t VALUES (1, 1);
/* s1 T1.1 */ BEGIN;
/* s1 T1.2 */ insert into t values (0, 0);
/* s2 T2.1 */ BEGIN;
/* s1 T1.3 */ update t set v = null where id in (1);
/* s2 T2.2 */ delete from t where id = 1;   -- @expect affected 0  @expect affected 1  @expect error deadlock  @expect error serialization
/* s1 T1.4 */ delete from t where id in (1, 2);
/* s2 T2.3 */ COMMIT;
/* s1 T1.5 */ COMMIT;                       -- @error internal  @error other  @expect accepted
/* s1 T3.1 */ SELECT * FROM t;              -- @expect (0, 0)  @expect empty
