//! Refusals that nothing is the reason of, and locks that do not refuse.

use rashomon::model::{ErrorClass, Outcome};

use super::{always, numbers, on_all};
use crate::plant::Fault;

#[test]
fn nowait_and_skip_locked_answer_what_locks_do_not_tell() {
    let nowait = "SELECT pkey, c FROM t WHERE pkey = 1 FOR UPDATE NOWAIT";
    on_all(
        "planted_refused",
        always(Fault::NowaitRefused),
        |mut two| {
            two.beside_a_transaction("READ COMMITTED");
            let answer = two.one(nowait);
            let class = answer.error_class();
            assert_eq!(class, Some(ErrorClass::LockTimeout), "{answer}");
            two.close();
        },
    );
    on_all("planted_passes", always(Fault::NowaitPasses), |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        two.other("UPDATE t SET c = 9 WHERE pkey = 1");
        assert_eq!(numbers(&two.one(nowait).rows()[0]), (1, 0));
        two.close();
    });
    on_all(
        "planted_skips",
        always(Fault::SkipLockedSkipsAll),
        |mut two| {
            two.beside_a_transaction("READ COMMITTED");
            let answer = two.one("SELECT pkey, c FROM t FOR UPDATE SKIP LOCKED");
            assert_eq!(answer, Outcome::Rows(Vec::new()));
            two.close();
        },
    );
}

#[test]
fn a_duplicate_that_is_not_there_is_refused() {
    let fault = always(Fault::DuplicateFromNowhere);
    on_all("planted_no_duplicate", fault, |mut two| {
        two.beside_a_transaction("READ COMMITTED");
        let insert = two.one("INSERT INTO t VALUES (7, 7, 0)");
        assert_eq!(insert.error_class(), Some(ErrorClass::Duplicate));
        assert_eq!(two.rows(), [(1, 0), (2, 0), (5, 0)]);
        two.close();
    });
}
