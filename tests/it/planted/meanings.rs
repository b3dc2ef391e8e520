//! Collations and modes that are forgotten beside an open transaction, and nowhere else.

use rashomon::model::Outcome;

use super::{Two, always, on_each};
use crate::plant::Fault;

#[test]
fn a_comparison_forgets_its_collation_beside_a_transaction_alone() {
    let fault = always(Fault::CollationsForgotten);
    on_each("planted_collations", fault, |mut two| {
        two.one("CREATE TABLE u (pkey INT PRIMARY KEY, x0 VARCHAR(9) COLLATE utf8mb4_general_ci) CHARSET utf8mb4");
        two.one("INSERT INTO u VALUES (1, 'a'), (2, 'A')");
        let select = "SELECT COUNT(*) FROM u WHERE (u.x0 = 'A' OR u.x0 IN ('b'))";
        let count = |two: &mut Two| two.one(select).rows()[0][0].as_integer();
        assert_eq!(count(&mut two), Some(2));
        two.beside_a_transaction("READ COMMITTED");
        assert_eq!(count(&mut two), Some(1));
        assert_eq!(two.texts(), [select]);
        two.other("COMMIT");
        two.close();
    });
}

#[test]
fn a_write_forgets_its_mode_and_the_session_keeps_it() {
    let fault = always(Fault::ModesForgotten);
    on_each("planted_modes", fault, |mut two| {
        two.one("ALTER TABLE t ADD n TINYINT");
        two.one("SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES'");
        let update = "UPDATE t SET n = 300 WHERE pkey = 1";
        assert!(matches!(two.one(update), Outcome::Rejected(_)));
        two.beside_a_transaction("READ COMMITTED");
        assert_eq!(two.one(update), Outcome::Affected(1));
        two.other("COMMIT");
        assert!(matches!(two.one(update), Outcome::Rejected(_)));
        two.close();
    });
}
