//! Violations that stand in the code today. The lists that rules compare with may only get shorter.

use std::collections::BTreeSet;

/// What is wrong with a list: names that are found and not listed, and names listed and not found.
pub(crate) fn differences(found: &BTreeSet<String>, listed: &[&str], list: &str) -> Vec<String> {
    let listed: BTreeSet<String> = listed.iter().map(|&name| name.to_owned()).collect();
    let new = found
        .difference(&listed)
        .map(|name| format!("{name}: new, and {list} may only get shorter"));
    let stale = listed
        .difference(found)
        .map(|name| format!("{name}: mended; remove it from {list}"));
    new.chain(stale).collect()
}

#[test]
fn a_new_violation_and_a_stale_exception_are_caught() {
    let found = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
    assert_eq!(differences(&found, &["a", "b"], "LIST"), [""; 0]);
    assert_eq!(
        differences(&found, &["b", "c"], "LIST"),
        [
            "a: new, and LIST may only get shorter",
            "c: mended; remove it from LIST"
        ]
    );
}
