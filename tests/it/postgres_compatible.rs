//! Locks of PostgreSQL that do not exclude each other, and servers that take stronger ones.

use rashomon::model::IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};

use crate::heard::open_planted;
use crate::lying::{SETUP, hearing_of, honest, scripted};
use crate::oracles;
use crate::plant::Fault;
use crate::servers::{Needs, url};

const CHANGED: &str = "UPDATE t0 SET c0 = 11, vkey = 1000 WHERE pkey = 1";
const MOVED: &str = "UPDATE t0 SET pkey = 5, vkey = 1000 WHERE pkey = 1";
const DELETED: &str = "DELETE FROM t0 WHERE pkey = 1";
const LOCKED: &str = "SELECT pkey FROM t0 WHERE pkey = 1";

/// What the first transaction does, and then the second one before the first has ended.
fn kind(url: &str, fault: Fault, first: &str, second: &str) -> Vec<String> {
    let (_planted, server) = open_planted(url, fault);
    let script = format!("s1 BEGIN\ns2 BEGIN\ns1 {first}\ns2 {second}\ns1 ROLLBACK\ns2 ROLLBACK");
    let levels = [ReadCommitted, RepeatableRead, Serializable].into_iter();
    let said = levels.map(|level| {
        let case = scripted(&*server, level, SETUP, &script);
        oracles::kind(&hearing_of(&*server, &case, honest).verdict())
    });
    said.collect()
}

#[test]
fn a_lock_that_is_stronger_than_the_one_asked_for_is_heard_by_who_waits() {
    let Some(url) = url("a_lock_that_is_stronger", Needs::Postgres) else {
        return;
    };
    let key_share = format!("{LOCKED} FOR KEY SHARE");
    let no_key_update = format!("{LOCKED} FOR NO KEY UPDATE");
    let share = format!("{LOCKED} FOR SHARE");
    for (fault, first, second) in [
        (Fault::UpdateLocksKey, CHANGED, key_share.as_str()),
        (Fault::KeyShareIsExclusive, &key_share, CHANGED),
        (Fault::KeyShareIsExclusive, &key_share, &no_key_update),
    ] {
        let heard = kind(&url, fault, first, second);
        assert_eq!(heard, ["waited"; 3], "{first}; {second}");
        let silent = kind(&url, Fault::None, first, second);
        assert_eq!(silent, ["agree"; 3], "{first}; {second}");
    }
    // These wait for each other on a stock server.
    for (first, second) in [
        (share.as_str(), CHANGED),
        (&key_share, MOVED),
        (&key_share, DELETED),
        (MOVED, &key_share),
        (DELETED, &key_share),
        (CHANGED, &share),
        (&no_key_update, &share),
    ] {
        // Before PostgreSQL 18 a row that gets another key is not told from another row.
        let moves = [first, second].contains(&MOVED);
        for silent in kind(&url, Fault::None, first, second) {
            let is_untold = moves && silent == "undecided (write-without-returning)";
            assert!(
                silent == "agree" || is_untold,
                "{first}; {second}: {silent}"
            );
        }
    }
}
